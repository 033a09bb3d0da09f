package store

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"

	"dyno/services/orders/order"
)

// submission is what is written.
type submission struct {
	*order.Submission
	account string
	digest  [sha256.Size]byte
}

// digest is what makes two submissions the same: the fields, not the message, so that an order that
// was sent as JSON and then as FIX is one. Each text has its length before it, so that none can
// pass for part of another.
func digest(account string, m *order.Submission) [sha256.Size]byte {
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

// submit inserts; when the client order id was used it looks which order that made. What is read
// then was committed before: nothing else makes an insert do nothing.
func (s *submission) submit(ctx context.Context, d driver) (order.Receipt, error) {
	made, err := d.insert(ctx, s)
	if !errors.Is(err, order.ErrNotFound) {
		return order.Receipt{Order: made}, err
	}
	before, digest, err := d.existing(ctx, s)
	switch {
	case err != nil:
		return order.Receipt{}, err
	case subtle.ConstantTimeCompare(digest, s.digest[:]) == 0:
		return order.Receipt{}, fmt.Errorf("%w: %q made order %d of account %s, which differs; give this one an id of its own",
			order.ErrConflict, s.ClientOrderID, before.UID, s.account)
	}
	return order.Receipt{Order: before, Duplicate: true}, nil
}
