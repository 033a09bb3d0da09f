package dispatch

import (
	"context"
	"net/http"

	"dyno/parts/refusal"
	"dyno/services/notify/notice"
)

// AcceptEach is Accept for notices of several callers: it refuses only those that cannot be
// accepted, each with its own error, and stores the others in one append. A receipt says nothing of
// a notice that is refused. failed is the error of a log that cannot be written at present, which
// would refuse other notices, too.
func (a *Acceptor) AcceptEach(ctx context.Context, notices []*notice.Notice) (receipts []Receipt, refused Refused, failed error) {
	c, err := a.claim(ctx, notices)
	if err != nil {
		return nil, refused.with(err, notices...), nil
	}
	refused, failed = a.storeEach(c.fresh)
	for i, claim := range c.claims {
		switch n := notices[i]; {
		case c.isFresh(i):
			a.settle(c.items[i], n, refused[n])
		case claim.Seq == 0 && refused[notices[claim.First]] != nil:
			err := refused[notices[claim.First]]
			if claim.Other { // it may be free of what is wrong with the first
				err = refusal.New(http.StatusServiceUnavailable, "another notice of this id came at the same time and was refused; try again")
			}
			refused = refused.with(err, n)
		case claim.Other:
			refused = refused.with(belongsToOther(n), n)
		}
	}
	a.countRefused(refused)
	return receiptsOf(notices, c.claims), refused, failed
}

// Refused has the error of each notice that is refused.
type Refused map[*notice.Notice]error

func (r Refused) with(err error, notices ...*notice.Notice) Refused {
	if r == nil {
		r = Refused{}
	}
	for _, n := range notices {
		r[n] = err
	}
	return r
}

// countRefused counts as Accept does.
func (a *Acceptor) countRefused(refused Refused) {
	var busy []*notice.Notice
	for n, err := range refused {
		if statusOf(err) == http.StatusTooManyRequests {
			busy = append(busy, n)
		}
	}
	if len(busy) > 0 {
		a.options.Table.refused(busy)
	}
}

// storeEach stores those of notices that can be stored. Those that are too many or too large for one
// append it tries by halves.
func (a *Acceptor) storeEach(notices []*notice.Notice) (refused Refused, failed error) {
	found := foundMatches.Get().(*matches)
	defer found.release()
	admitted, owed, refused := a.admitEach(notices, found)
	if len(admitted) == 0 {
		return refused, nil
	}
	_, err := a.append(admitted, owed, found)
	if err == nil {
		return refused, nil
	}
	switch status := statusOf(err); {
	case status == http.StatusRequestEntityTooLarge && len(admitted) > 1:
		half := len(admitted) / 2
		for _, part := range [][]*notice.Notice{admitted[:half], admitted[half:]} {
			if failed != nil {
				refused = refused.with(failed, part...)
				continue
			}
			var more Refused
			more, failed = a.storeEach(part)
			for n, err := range more {
				refused = refused.with(err, n)
			}
		}
		return refused, failed
	case status == http.StatusServiceUnavailable:
		failed = err
	}
	return refused.with(err, admitted...), failed
}

// admitEach is admit for those of notices that can be admitted.
func (a *Acceptor) admitEach(notices []*notice.Notice, found *matches) (admitted []*notice.Notice, owed int, refused Refused) {
	all, err := a.admit(notices, found)
	if err == nil {
		return notices, all, nil
	}
	if statusOf(err) != http.StatusTooManyRequests {
		return nil, 0, refused.with(err, notices...)
	}
	for i, n := range notices { // there may be room for some of them
		one, err := a.admit(notices[i:i+1], found)
		if err != nil {
			refused = refused.with(err, n)
			continue
		}
		owed += one
		admitted = append(admitted, n)
	}
	a.options.Table.match(admitted, found)
	return admitted, owed, refused
}
