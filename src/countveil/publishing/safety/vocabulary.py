"""Words in column names that say who or what a column is about, in a dozen languages.

Enters: nothing. Leaves: sets of words. Must not know: columns, values.

Words are in lower case without accents (`fødselsnummer` is `fodselsnummer`, `straße` is `strasse`).
English, German, French, Spanish, Italian, Dutch, Swedish, Danish, Norwegian, Polish, Portuguese;
some of Finnish and Czech. `identifiers.py` says how they are used.
"""

from __future__ import annotations

# Those whom a row is about. English plurals are left out: `number_of_patients` is a count.
PERSONS = frozenset({
    "patient", "person", "pers", "subject", "participant", "respondent", "client", "customer",
    "member", "employee", "student", "pupil", "citizen", "user", "resident", "individual", "donor",
    "insured", "policyholder", "beneficiary", "taxpayer", "applicant", "claimant", "defendant",
    "suspect", "victim", "inmate", "proband", "volunteer", "passenger", "subscriber", "household",
    "family", "hh", "cust", "emp", "pat", "ptnt", "indiv", "hhold", "voter", "tenant", "borrower",
    "cardholder", "newborn", "mother", "patienten", "personen", "kunde", "kunden", "mitglied",
    "mitglieds", "versicherte", "versicherten", "versicherter", "schueler", "schuler",
    "studierende", "studierenden", "mitarbeiter", "probanden", "haushalt", "haushalts", "klient",
    "klienten", "buerger", "burger", "teilnehmer", "bewohner", "personne", "assure", "adherent",
    "salarie", "employe", "eleve", "etudiant", "usager", "beneficiaire", "menage", "individu",
    "paciente", "persona", "cliente", "afiliado", "empleado", "alumno", "estudiante", "usuario",
    "hogar", "individuo", "paziente", "assistito", "dipendente", "studente", "utente", "persoon",
    "klant", "lid", "leden", "medewerker", "deelnemer", "verzekerde", "huishouden", "pasient",
    "kund", "medlem", "elev", "deltagare", "deltager", "deltaker", "borger", "anstalld", "ansatt",
    "hushall", "pacjent", "pacjenta", "osoba", "osoby", "klienta", "pracownik", "pracownika",
    "uczen", "ucznia", "pessoa", "aluno", "funcionario", "membro",
})  # fmt: skip
# What happens once, and is on a list that somebody else has too.
EVENTS = frozenset({
    "case", "encounter", "visit", "admission", "episode", "stay", "hadm", "icustay", "appointment",
    "invoice", "order", "claim", "transaction", "booking", "ticket", "sample", "specimen",
    "accession", "contract", "policy", "tweet", "session", "chart", "record", "file",
    "prescription", "discharge", "referral", "fall", "faelle", "aufenthalt", "besuch", "rechnung",
    "rechnungs", "auftrag", "auftrags", "vertrag", "vertrags", "akte", "akten", "dossier", "sejour",
    "visite", "facture", "commande", "contrat", "episodio", "visita", "factura", "pedido",
    "contrato", "expediente", "ricovero", "fattura", "ordine", "contratto", "cartella", "opname",
    "bezoek", "factuur", "bestelling", "besok", "faktura", "ordre", "journal", "wizyta", "wizyty",
    "zamowienie", "umowa", "umowy", "internamento", "fatura",
})  # fmt: skip
# What counts persons and events through. The last line only beside a person: `country_code`.
NUMBERS = frozenset({
    "id", "ids", "identifier", "ident", "idnr", "idno", "nr", "nbr", "no", "num", "number",
    "nummer", "nro", "numero", "numer", "numeru", "key", "ref", "reference", "kennung",
    "kennziffer", "schluessel", "schlussel", "matricule", "matricula", "clave", "chiave", "sleutel",
    "identificador", "identificativo", "identifiant", "identyfikator", "identifikator", "hash",
    "pseudonym", "token", "code", "kod", "codigo", "codice", "index",
})  # fmt: skip
# Numbers by themselves, where they have many values.
BARE_NUMBERS = NUMBERS - {"code", "kod", "codigo", "codice", "index", "ref", "reference"}
# By themselves they are mostly those of the persons of a table.
WHOLE_NUMBERS = frozenset({"id", "pid", "uid", "idnr", "idno", "identifier", "ident"})
# Words for a count too: `num_procedures`, `number of visits`. They count persons only at the end.
COUNTS = frozenset({"no", "num", "number", "nr", "nbr", "numero", "numer"})
# A direct identifier, wherever it is in a name.
DIRECT = frozenset({
    "ssn", "nin", "nino", "nir", "bsn", "pesel", "cpf", "dni", "nif", "curp", "cpr", "cprnr",
    "amka", "hetu", "aadhaar", "fnr", "svnr", "svn", "kvnr", "ahv", "ahvnr", "email", "emails",
    "mail", "phone", "telephone", "tel", "mobile", "fax", "telefon", "telefono", "telefone",
    "telefoon", "telephon", "handy", "passport", "passeport", "pasaporte", "passaporto", "paspoort",
    "reisepass", "iban", "surname", "lastname", "firstname", "fullname", "forename", "givenname",
    "familyname", "middlename", "maidenname", "maiden", "nickname", "nachname", "vorname",
    "familienname", "geburtsname", "rufname", "prenom", "apellido", "apellidos", "cognome",
    "voornaam", "achternaam", "fornamn", "efternamn", "fornavn", "etternavn", "efternavn", "imie",
    "nazwisko", "apelido", "sobrenome", "username", "login", "mrn", "uuid", "guid", "fingerprint",
    "drivers", "taxid", "tin", "vin", "imei", "imsi", "msisdn", "numberplate", "licenceplate",
    "licenseplate", "kennzeichen", "initials", "secu",
})  # fmt: skip
# The same as parts of a name whose words were put together: `codice_fiscale`, `nhsnumber`.
DIRECT_PARTS = (
    "socialsecurity", "nationalid", "nationalinsurance", "nhsnumber", "nhsno", "nhsid",
    "healthcard",
    "burgerservicenummer", "codicefiscale", "codfisc", "steuerid", "steuernummer", "steueridnr",
    "sozialversicherung", "svnummer", "versichertennummer", "personnummer", "personnumber",
    "personalnummer", "fodselsnummer", "cprnummer", "henkilotunnus", "isikukood", "rodnecislo",
    "medicarenumber", "medicareno", "medicareid", "medicaidid", "passportno", "emailaddress",
    "phonenumber", "telefonnummer", "telefoonnummer", "mobilenumber", "firstname", "lastname",
    "fullname", "familyname", "givenname", "middlename", "maidenname", "surname", "username",
    "ipaddress", "driverslicen", "driverlicen", "licenseplate", "licenceplate", "numeross",
    "numerosecuritesociale", "securitesociale", "seguridadsocial", "tesserasanitaria", "creditcard",
    "cardnumber", "accountnumber", "kontonummer", "rekeningnummer", "medicalrecord", "patientname",
    "personname", "customername", "contactname", "clientname",
)  # fmt: skip
# Where one of these stands beside them, the column holds a property: `phone_service`, `has_email`.
PROPERTIES = frozenset({
    "service", "type", "has", "is", "flag", "consent", "verified", "valid", "status", "provider",
    "domain", "country", "count", "optin", "opt", "plan", "brand", "model", "os", "network",
    "usage", "bill", "use", "uses", "allowed", "preferred", "contact", "minutes", "lines",
})  # fmt: skip
# A name or a place, where there are many values: a brand_name has few.
OFTEN_DIRECT = frozenset({
    "name", "naam", "namn", "navn", "nom", "nombre", "nome", "pid", "uid", "identifier", "address",
    "adresse", "street", "account", "card", "ip", "licence", "license", "url", "serial", "strasse",
    "hausnummer", "housenumber", "direccion", "domicilio", "calle", "rue", "indirizzo", "straat",
    "gata", "gatuadress", "ulica", "adres", "endereco", "rua", "morada", "konto", "cuenta", "conto",
    "rekening", "latitude", "longitude", "lat", "lon", "lng", "gps", "coordinates",
})  # fmt: skip
# A personal name if that is all that the column is called.
WHOLE_NAMES = frozenset({"first", "last", "middle", "family", "given", "nhs", "nie"})
BIRTHS = frozenset({"dob", "ddn", "gebdat", "born", "fnac", "dtnasc", "birth", "geboren", "fodt"})
BIRTH_PARTS = (
    "birthdate", "birthday", "birthdt", "dateofbirth", "dateborn", "borndate", "geburtsdatum",
    "gebdatum", "geburtstag", "datenaissance", "datedenaissance", "fechanacimiento",
    "fechadenacimiento", "fechanac", "datanascita", "datadinascita", "geboortedatum",
    "fodelsedatum", "fodselsdato", "fodselsdag", "dataurodzenia", "datanascimento",
    "datadenascimento", "syntymaaika", "datumnarozeni",
)  # fmt: skip
DEATH_PARTS = (
    "deathdate", "dateofdeath", "sterbedatum", "todesdatum", "datedeces", "dodsdato", "dodsdatum",
    "fechadefuncion", "datamorte", "datadecesso", "datazgonu", "dataobito",
)  # fmt: skip
POSTCODES = frozenset({"zip", "plz", "postcode", "zipcode", "postalcode", "postnr", "eircode"})
POSTCODE_PARTS = (
    "postcode", "postalcode", "zipcode", "postleitzahl", "codepostal", "codigopostal",
    "codicepostale", "codicediavviamento", "postnummer", "kodpocztowy", "postinumero", "pincode",
)  # fmt: skip
WHOLE_POSTCODES = frozenset({"cap", "cp", "cep", "postal"})
# English words in -id that are no identifier: `uric_acid`, `covid`, `paid`.
NOT_IDS = frozenset({
    "acid", "paid", "covid", "valid", "invalid", "grid", "solid", "liquid", "fluid", "android",
    "thyroid", "steroid", "asteroid", "aid", "medicaid", "bid", "humid", "rapid", "kid", "mid",
    "avoid", "rigid", "vivid", "hybrid", "lipid", "amid", "said", "laid", "pyramid", "madrid",
    "orchid", "carotid", "sinusoid", "mastoid", "opioid", "typhoid", "rheumatoid", "haemorrhoid",
    "hemorrhoid", "cuboid", "void", "prepaid", "unpaid", "repaid", "squid", "lid", "did", "hid",
    "rid", "raid", "maid", "overpaid", "apartheid", "cuspid", "ovoid", "centroid",
})  # fmt: skip
# What people usually want to keep private.
SENSITIVE = frozenset({
    "diagnosis", "diagnoses", "diag", "dx", "disease", "illness", "icd", "icd9", "icd10", "hiv",
    "condition", "health", "disability", "medication", "drug", "procedure", "treatment", "symptom",
    "income", "salary", "wage", "wages", "pay", "earnings", "debt", "wealth", "religion", "faith",
    "belief", "occupation", "job", "profession", "employer", "party", "vote", "orientation",
    "ethnicity", "crime", "offence", "offense", "verdict", "benefit", "benefits", "grade", "score",
})  # fmt: skip
MISSING_MARKS = frozenset({
    "na", "n/a", "n.a.", "nan", "null", "none", "?", "-", "--", ".", "missing", "unknown", "nil",
    "#n/a",
})  # fmt: skip
