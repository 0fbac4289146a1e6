# The command line in an image: no root, no network, nothing but Python, countveil and its pins.
#
#   docker build -t countveil .
#   docker run --rm --network none -v "$PWD:/data" --user "$(id -u):$(id -g)" countveil --help
#
# EXTRAS adds what is optional: docker build --build-arg EXTRAS="postgres stat" ...

FROM python:3.12-slim AS build
ARG EXTRAS=""
WORKDIR /build
COPY requirements requirements
# Dependencies first: they change more rarely than the source.
RUN python -m venv --without-pip /opt/countveil \
 && for name in runtime $EXTRAS; do \
      python -m pip --python /opt/countveil/bin/python install --no-cache-dir --no-deps --require-hashes \
        -r "requirements/$name.txt" || exit 1; \
    done
RUN python -m pip install --no-cache-dir --no-deps --require-hashes -r requirements/build.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN python -m hatchling build --target wheel --directory dist \
 && python -m pip --python /opt/countveil/bin/python install --no-cache-dir --no-deps --no-index dist/*.whl

FROM python:3.12-slim
COPY --from=build /opt/countveil /opt/countveil
# The table and the release are below /data. The user needs neither a name nor a home.
RUN install -d -o 10001 -g 10001 /data
ENV HOME=/tmp
USER 10001:10001
WORKDIR /data
ENTRYPOINT ["/opt/countveil/bin/countveil"]
CMD ["--help"]
