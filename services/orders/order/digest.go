package order

import (
	"crypto/sha256"
	"encoding/binary"
)

// Digest returns what makes two submissions for an account the same: the fields, not the message,
// so that an order that was sent as JSON and then as FIX is one. Each text has its length before
// it, so that none can pass for part of another.
func (m *Submission) Digest(account string) [sha256.Size]byte {
	var room [256]byte
	b := room[:0]
	for _, text := range []string{account, m.ClientOrderID, m.Symbol} {
		b = binary.AppendUvarint(b, uint64(len(text)))
		b = append(b, text...)
	}
	b = append(b, byte(m.Side))
	b = binary.BigEndian.AppendUint64(b, uint64(m.Price))
	b = binary.BigEndian.AppendUint64(b, uint64(m.Qty))
	return sha256.Sum256(b)
}
