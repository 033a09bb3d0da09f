package dispatch

import (
	"errors"
	"net/http"

	"dyno/parts/refusal"
	"dyno/services/notify/journal"
	"dyno/services/notify/notice"
	"dyno/services/notify/webhook"
)

// Replay makes a dead letter pending again, durably, at the end of its key's lane. When there is
// none, it returns journal.ErrUnknown.
func (t *Table) Replay(id string, seq uint64) error {
	sub := t.get(id)
	if sub == nil {
		return journal.ErrUnknown
	}
	sub.Mu.Lock()
	defer sub.Mu.Unlock()
	if sub.Gone {
		return journal.ErrUnknown
	}
	if sub.Def.Disabled != "" {
		return refusal.New(http.StatusConflict, "the subscription is disabled (%s); enable it first with PATCH {\"disabled\":false}", sub.Def.Disabled)
	}
	letter, record, ok, err := t.options.Store.Journal.Replay(id, seq)
	if err := t.unchanged(ok, err); err != nil {
		return err
	}
	sub.Counts.Dead--
	return t.options.Deliverer.replay(&sub.Receiver, letter, record)
}

// Purge deletes a dead letter, durably. When there is none, it returns journal.ErrUnknown.
func (t *Table) Purge(id string, seq uint64) error {
	sub := t.get(id)
	if sub == nil {
		return journal.ErrUnknown
	}
	sub.Mu.Lock()
	defer sub.Mu.Unlock()
	ok, err := t.options.Store.Journal.Purge(id, seq)
	if err := t.unchanged(ok, err); err != nil {
		return err
	}
	sub.Counts.Purged++
	return nil
}

// unchanged returns why the journal did not change a dead letter, from what it returned; nil means
// that it did.
func (t *Table) unchanged(ok bool, err error) error {
	switch {
	case errors.Is(err, journal.ErrReplaying):
		return refusal.New(http.StatusConflict, "%v", err)
	case err != nil:
		return t.options.Store.Refuse(err)
	case !ok:
		return journal.ErrUnknown
	}
	return nil
}

// SendTest sends one notice to one subscription, now and once. It counts nowhere, and its outcome
// changes nothing.
func (t *Table) SendTest(id string, n *notice.Notice) (webhook.Outcome, error) {
	sub := t.get(id)
	if sub == nil {
		return webhook.Outcome{}, ErrUnknown
	}
	return t.options.Deliverer.sendTest(&sub.Receiver, n), nil
}
