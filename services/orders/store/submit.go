package store

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"

	"dyno/services/orders/order"
)

// submitTo inserts; when the client order id was used it looks which order that made. What is read
// then was committed before: nothing else makes an insert do nothing.
func submitTo(ctx context.Context, d driver, s *submission) (order.Receipt, error) {
	made, err := d.Insert(ctx, s)
	if !errors.Is(err, order.ErrNotFound) {
		return order.Receipt{Order: made}, err
	}
	before, digest, err := d.Existing(ctx, s)
	switch {
	case err != nil:
		return order.Receipt{}, err
	case subtle.ConstantTimeCompare(digest, s.digest[:]) == 0:
		return order.Receipt{}, fmt.Errorf("%w: %q made order %d of account %s, which differs; give this one an id of its own",
			order.ErrConflict, s.ClientOrderID, before.UID, s.owner)
	}
	return order.Receipt{Order: before, Duplicate: true}, nil
}
