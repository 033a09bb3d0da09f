package signing

import (
	"encoding/binary"
	"fmt"
	"math"

	"dyno/services/ledger/xrpl"
	"dyno/services/ledger/xrpl/sfield"
)

// Manifest states the current signing key of a validator or of a publisher of validator lists.
type Manifest struct {
	Sequence uint32 // a higher one replaces a lower one
	Master   []byte // master key, which identifies it
	Key      []byte // signing key; none when revoked
	Domain   string // may be empty
}

const (
	revoked = math.MaxUint32
	// maxManifest limits a manifest, in bytes. Real ones have about 200, with a domain of at most 128.
	maxManifest = 1024
)

// Revoked reports whether the master key and all keys that it named are no longer trusted.
func (m *Manifest) Revoked() bool { return m.Sequence == revoked }

// ParseManifest parses a manifest and checks the signatures of both keys. The keys share b's
// memory. The error wraps ErrMalformed or ErrSignature.
func ParseManifest(b []byte) (m Manifest, err error) {
	if len(b) > maxManifest {
		return Manifest{}, fmt.Errorf("manifest: %w: %d bytes are more than the %d that are taken", xrpl.ErrMalformed, len(b), maxManifest)
	}
	var masters, signature []byte
	err = xrpl.WalkOutermost(b, func(f xrpl.Field, value []byte) {
		switch {
		case f.Is(sfield.Sequence):
			m.Sequence = binary.BigEndian.Uint32(value)
		case f.Is(sfield.PublicKey):
			m.Master = value
		case f.Is(sfield.SigningPubKey):
			m.Key = value
		case f.Is(sfield.Domain):
			m.Domain = string(value)
		case f.Is(sfield.Signature):
			signature = value
		case f.Is(sfield.MasterSignature):
			masters = value
		}
	})
	if err != nil {
		return Manifest{}, fmt.Errorf("manifest: %w", err)
	}
	if len(m.Master) == 0 || (len(m.Key) == 0) != m.Revoked() {
		return Manifest{}, fmt.Errorf("manifest: %w: a key is missing, or one is there that is revoked", xrpl.ErrMalformed)
	}
	if err := checkPrefixed(prefixManifest, b, m.Master, masters); err != nil {
		return Manifest{}, fmt.Errorf("manifest of %X: master key: %w", m.Master, err)
	}
	if m.Revoked() {
		return m, nil
	}
	if err := checkPrefixed(prefixManifest, b, m.Key, signature); err != nil {
		return Manifest{}, fmt.Errorf("manifest of %X: %w", m.Master, err)
	}
	return m, nil
}

// SignManifest builds a manifest in which a master key names its signing key. A nil key revokes the
// master key, whatever the sequence is.
func SignManifest(master, key *Key, sequence uint32, domain string) []byte {
	if key == nil {
		sequence = revoked
	}
	b := xrpl.Fields(nil).UInt32(sfield.Sequence, sequence).Blob(sfield.PublicKey, master.public)
	if key != nil {
		b = b.Blob(sfield.SigningPubKey, key.public)
	}
	var after xrpl.Fields
	if domain != "" {
		after = after.Blob(sfield.Domain, []byte(domain))
	}
	message := append(append([]byte(prefixManifest), b...), after...)
	if key != nil {
		b = b.Blob(sfield.Signature, key.Sign(message))
	}
	return append(b, after...).Blob(sfield.MasterSignature, master.Sign(message))
}
