package signing

import (
	"crypto/ed25519"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/sfield"
)

// Key is a private key for simulators and tests. It is safe for concurrent use.
type Key struct {
	public  []byte
	secp    *secp256k1.PrivateKey
	edwards ed25519.PrivateKey
}

// NewKey derives a secp256k1 key from a seed, deterministically, but not as wallets do.
func NewKey(seed []byte) *Key {
	for digest := xrpl.SHA512Half(seed); ; digest = xrpl.SHA512Half(digest[:]) {
		var scalar secp256k1.ModNScalar
		if overflow := scalar.SetBytes((*[32]byte)(&digest)); overflow != 0 || scalar.IsZero() {
			continue
		}
		private := secp256k1.NewPrivateKey(&scalar)
		return &Key{public: private.PubKey().SerializeCompressed(), secp: private}
	}
}

// NewKeyEd25519 is NewKey for ed25519.
func NewKeyEd25519(seed []byte) *Key {
	digest := xrpl.SHA512Half(seed)
	private := ed25519.NewKeyFromSeed(digest[:])
	return &Key{public: append([]byte{0xed}, private.Public().(ed25519.PublicKey)...), edwards: private}
}

// Public returns the public key, 33 bytes, which must not be changed.
func (k *Key) Public() []byte { return k.public }

// Account returns the account whose master key this is.
func (k *Key) Account() xrpl.AccountID { return xrpl.KeyAccount(k.public) }

// Sign signs a message as the ledger requires. Signatures are deterministic.
func (k *Key) Sign(message []byte) []byte {
	if k.edwards != nil {
		return ed25519.Sign(k.edwards, message)
	}
	digest := xrpl.SHA512Half(message)
	return ecdsa.Sign(k.secp, digest[:]).Serialize()
}

// SignTransaction adds the signature to a transaction that has the key's SigningPubKey.
func SignTransaction(unsigned xrpl.Fields, k *Key) ([]byte, error) {
	data, err := SigningData(nil, unsigned)
	if err != nil {
		return nil, err
	}
	return unsigned.Insert(sfield.TxnSignature, xrpl.Fields(nil).Blob(sfield.TxnSignature, k.Sign(data)))
}
