"""The names of the group methods: public, since a release says which one was used."""

GROUP_METHODS = ("anatomy",)
