"""Prints nested.json: transactions that others than their senders signed as well.

    pip install xrpl-py==5.2.0 && python nested.py > nested.json

The entry "batch, before BatchV1_1" is that of xrpl-py 4.3.0 (python nested.py early), whose BatchSigners sign flags and
transactions alone. Keys are made from fixed entropy, so that the bytes are the same each time.
"""
import json
import sys

from xrpl.constants import CryptoAlgorithm
from xrpl.core.binarycodec import encode
from xrpl.core.keypairs import sign
from xrpl.models.transactions import Batch, BatchFlag, Payment
from xrpl.transaction import multisign, sign as sign_tx, sign_multiaccount_batch
from xrpl.transaction.batch_signers import combine_batch_signers
from xrpl.wallet import Wallet


def wallet(n, algorithm=CryptoAlgorithm.SECP256K1):
    return Wallet.from_entropy(bytes([n] * 16).hex(), algorithm=algorithm)


alice, bob, carol, dave = (wallet(n) for n in (1, 2, 3, 4))
erin = wallet(5, CryptoAlgorithm.ED25519)


def batch(**how):
    def inner(who, to, sequence):
        return Payment(account=who.address, destination=to.address, amount="1000", sequence=sequence,
                       fee="0", flags=0x40000000, signing_pub_key="")
    how = {"sequence": 7, **how}
    return Batch(account=alice.address, fee="100", flags=BatchFlag.TF_ALL_OR_NOTHING,
                 raw_transactions=[inner(alice, bob, 8), inner(bob, alice, 20), inner(erin, alice, 30)], **how)


def signed_batch(b, *parts):
    return sign_tx(Batch.from_blob(combine_batch_signers(list(parts))), alice)


def case(name, tx, inner=()):
    return {"name": name, "blob": tx if isinstance(tx, str) else tx.blob(), "inner": [encode(t.to_xrpl()) for t in inner]}


def early():
    b = batch()
    return [case("batch, before BatchV1_1", signed_batch(b, sign_multiaccount_batch(bob, b), sign_multiaccount_batch(erin, b)), b.raw_transactions)]


def today():
    from xrpl.models.transactions import LoanSet
    from xrpl.transaction.counterparty_signer import combine_loanset_counterparty_signers, sign_loan_set_by_counterparty
    from xrpl.transaction.sponsor_signer import combine_sponsor_signers, sign_as_sponsor

    out = []
    for name, how in (("batch", {}), ("batch with a ticket", {"sequence": 0, "ticket_sequence": 99})):
        b = batch(**how)
        out.append(case(name, signed_batch(b, sign_multiaccount_batch(bob, b), sign_multiaccount_batch(erin, b)), b.raw_transactions))
    b = batch()
    out.append(case("batch with several signers for one of its accounts", signed_batch(
        b, sign_multiaccount_batch(carol, b, multisign=True, batch_account=bob.address),
        sign_multiaccount_batch(dave, b, multisign=True, batch_account=bob.address), sign_multiaccount_batch(erin, b)), b.raw_transactions))

    loan = LoanSet(account=alice.address, counterparty=bob.address, loan_broker_id="AB" * 32, principal_requested="5000",
                   sequence=9, fee="40", flags=0)
    signed = sign_tx(loan, alice)
    out.append(case("loan with its counterparty", sign_loan_set_by_counterparty(bob, signed).tx_blob))
    out.append(case("loan with several signers for its counterparty", combine_loanset_counterparty_signers(
        [sign_loan_set_by_counterparty(w, signed, multisign=True).tx for w in (carol, erin)]).tx_blob))

    pay = Payment(account=alice.address, destination=bob.address, amount="1000", sequence=11, fee="12", flags=0,
                  sponsor=carol.address, sponsor_flags=1, signing_pub_key=alice.public_key)
    out.append(case("payment with a sponsor", sign_tx(sign_as_sponsor(carol, pay).tx, alice)))
    both = combine_sponsor_signers([sign_as_sponsor(w, pay, multisign=True).tx for w in (dave, erin)]).tx
    out.append(case("payment with several signers for its sponsor", sign_tx(both, alice)))

    several = Payment(account=alice.address, destination=bob.address, amount="1000", sequence=12, fee="36", flags=0)
    out.append(case("payment of several signers", multisign(several, [sign_tx(several, w, multisign=True) for w in (carol, erin)])))

    bridge = {"LockingChainDoor": dave.address, "LockingChainIssue": {"currency": "XRP"},
              "IssuingChainDoor": carol.address, "IssuingChainIssue": {"currency": "XRP"}}
    said = {"XChainBridge": bridge, "OtherChainSource": bob.address, "Amount": "10000", "AttestationRewardAccount": dave.address,
            "WasLockingChainSend": 1, "XChainClaimID": "b", "Destination": carol.address}
    witness = {"PublicKey": erin.public_key, "AttestationSignerAccount": erin.address,
               "Signature": sign(bytes.fromhex(encode(said)), erin.private_key)}
    tx = {"TransactionType": "XChainAddClaimAttestation", "Account": alice.address, "Sequence": 13, "Fee": "12", "Flags": 0,
          "SigningPubKey": alice.public_key, **said, **witness}
    from xrpl.core.binarycodec import encode_for_signing
    tx["TxnSignature"] = sign(bytes.fromhex(encode_for_signing(tx)), alice.private_key)
    out.append(case("attestation of a bridge's witness", encode(tx)))
    return out


print(json.dumps(early() if "early" in sys.argv else today(), indent=1))
