//go:build cgo

package signing

import (
	"github.com/ethereum/go-ethereum/crypto/secp256k1"

	"dyno/services/ledger/xrpl"
)

// LibSecp checks secp256k1 signatures with the C library, and ed25519 signatures in Go.
type LibSecp struct{}

// Check implements Checker.
func (LibSecp) Check(key, message, signature []byte) bool {
	if isEd25519(key) {
		return checkEd25519(key, message, signature)
	}
	r, s, err := parseDER(signature)
	if err != nil || len(key) != xrpl.KeySize {
		return false
	}
	if s.IsOverHalfOrder() { // the library refuses it
		s.Negate()
	}
	var both [64]byte
	r.PutBytesUnchecked(both[:32])
	s.PutBytesUnchecked(both[32:])
	digest := xrpl.SHA512Half(message)
	return secp256k1.VerifySignature(key, digest[:], both[:])
}

func addLibSecp(all map[string]Checker) { all["libsecp256k1"] = LibSecp{} }
