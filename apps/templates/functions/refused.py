"""The functions of Go and sprig that are refused, and why: each reason continues a sentence."""

from collections.abc import Mapping

_RANDOM = "is random, and a plan must give the same each time"
_CLOCK = "reads the clock, and a plan must give the same each time"
_ENVIRONMENT = "reads the environment of the machine that renders, which is the customer's"
_KEYS = (
    "makes a new key each time, and a plan must give the same; let Terraform make it, or a secret"
)
_SALTED = "is salted at random, and a plan must give the same each time"

REFUSED: Mapping[str, str] = {
    **dict.fromkeys(
        ("randAlpha", "randAlphaNum", "randAscii", "randNumeric", "randBytes", "randInt",
         "uuidv4", "shuffle"),
        _RANDOM,
    ),
    **dict.fromkeys(("now", "ago"), _CLOCK),
    **dict.fromkeys(("env", "expandenv"), _ENVIRONMENT),
    "getHostByName": "asks the network, whose answer differs from time to time and place to place",
    **dict.fromkeys(
        ("genPrivateKey", "genCA", "genCAWithKey", "genSelfSignedCert",
         "genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey"),
        _KEYS,
    ),
    **dict.fromkeys(("bcrypt", "htpasswd", "encryptAES"), _SALTED),
    "buildCustomCert": "is for certificates made in templates, which are refused",
    "decryptAES": "is for what `encryptAES` makes in templates, which is refused",
    "derivePassword": "takes long by intent, and a password does not belong in a plan",
    "call": "calls a function that is a value, and no value of a template is one",
}  # fmt: skip
"""By name: `the function … is refused: it …`."""
