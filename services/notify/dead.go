package notify

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"dyno/services/notify/journal"
)

// letterView is what the API shows of a dead letter.
type letterView struct {
	ID           string       `json:"id"`
	Subscription string       `json:"subscription"`
	Seq          uint64       `json:"seq"`
	Notice       letterNotice `json:"notice"`
	Reason       string       `json:"reason"`
	Attempts     int          `json:"attempts"`
	Status       int          `json:"status,omitempty"` // of the last answer
	Died         time.Time    `json:"died"`
	Size         int          `json:"size"` // bytes
	Replaying    bool         `json:"replaying,omitempty"`
}

type letterNotice struct {
	ID        string          `json:"id"`
	Key       string          `json:"key"`
	Type      string          `json:"type"`
	Timestamp *time.Time      `json:"timestamp,omitempty"` // with the payload only
	Payload   json.RawMessage `json:"payload,omitempty"`
}

// viewLetter shows a dead letter, whose record names the notice.
func viewLetter(sub string, l journal.Letter, record []byte, whole bool) (letterView, error) {
	v := letterView{
		ID: letterID(sub, l.Seq), Subscription: sub, Seq: l.Seq, Reason: l.Reason, Attempts: l.Attempts, Status: l.Status,
		Died: l.Died.UTC(), Size: l.Size, Replaying: l.Replaying,
	}
	n, err := decodeRecord(l.Seq, record)
	if err != nil {
		return v, err
	}
	v.Notice = letterNotice{ID: n.ID, Key: n.Key, Type: n.Type}
	if whole {
		at := n.timestamp()
		v.Notice.Timestamp, v.Notice.Payload = &at, n.Payload
	}
	return v, nil
}

func (d *Dispatcher) listDead(w http.ResponseWriter, r *http.Request) {
	limit, err := limitOf(r, listedLetters)
	if err != nil {
		answerError(w, err)
		return
	}
	query := r.URL.Query()
	only, after := query.Get("subscription"), query.Get("after")
	afterSub, afterSeq, ok := parseLetterID(after)
	if after != "" && !ok {
		answerError(w, badField("after", "after: %q is no id of a dead letter, SUBSCRIPTION-SEQ", after))
		return
	}
	out := struct {
		Dead []letterView `json:"dead"`
		Next string       `json:"next,omitempty"` // ?after=NEXT goes on
	}{Dead: []letterView{}}
	for _, sub := range d.subscriptions() {
		if only != "" && sub.id != only || sub.id < afterSub {
			continue
		}
		for _, l := range d.journal.Letters(sub.id) {
			if sub.id == afterSub && l.Seq <= afterSeq {
				continue
			}
			if len(out.Dead) == limit {
				out.Next = out.Dead[limit-1].ID
				answer(w, http.StatusOK, out)
				return
			}
			_, record, err := d.journal.Letter(sub.id, l.Seq)
			if errors.Is(err, journal.ErrUnknown) {
				continue // purged meanwhile
			}
			view, _ := viewLetter(sub.id, l, record, false) // one that cannot be read is shown as far as it is known
			out.Dead = append(out.Dead, view)
		}
	}
	answer(w, http.StatusOK, out)
}

func (d *Dispatcher) getDead(w http.ResponseWriter, r *http.Request) {
	sub, seq, _ := parseLetterID(r.PathValue("id"))
	l, record, err := d.journal.Letter(sub, seq)
	if errors.Is(err, journal.ErrUnknown) {
		answerError(w, noLetter(r))
		return
	}
	var view letterView
	if err == nil {
		view, err = viewLetter(sub, l, record, true)
	}
	if err != nil {
		answerError(w, err)
		return
	}
	answer(w, http.StatusOK, view)
}

func noLetter(r *http.Request) error {
	return refuse(http.StatusNotFound, "no dead letter %q", r.PathValue("id"))
}

// replayDead makes a dead letter pending again, behind what else there is of its key.
func (d *Dispatcher) replayDead(w http.ResponseWriter, r *http.Request) {
	id, seq, _ := parseLetterID(r.PathValue("id"))
	sub := d.subscription(id)
	if sub == nil {
		answerError(w, noLetter(r))
		return
	}
	if err := d.replayLetter(sub, seq); err != nil {
		if errors.Is(err, journal.ErrUnknown) {
			err = noLetter(r)
		}
		answerError(w, err)
		return
	}
	answer(w, http.StatusAccepted, map[string]string{"id": r.PathValue("id")})
}

func (d *Dispatcher) replayLetter(sub *subscription, seq uint64) error {
	sub.mu.Lock()
	defer sub.mu.Unlock()
	if sub.gone {
		return journal.ErrUnknown
	}
	if sub.def.Disabled != "" {
		return refuse(http.StatusConflict, "the subscription is disabled (%s); enable it first with PATCH {\"disabled\":false}", sub.def.Disabled)
	}
	letter, record, ok, err := d.journal.Replay(sub.id, seq)
	switch {
	case errors.Is(err, journal.ErrReplaying):
		return refuse(http.StatusConflict, "%v", err)
	case err != nil:
		return d.unstored(err)
	case !ok:
		return journal.ErrUnknown
	}
	sub.counts.Dead--
	return d.replay(sub, letter, record)
}

func (d *Dispatcher) deleteDead(w http.ResponseWriter, r *http.Request) {
	id, seq, _ := parseLetterID(r.PathValue("id"))
	sub := d.subscription(id)
	if sub == nil {
		answerError(w, noLetter(r))
		return
	}
	sub.mu.Lock()
	defer sub.mu.Unlock()
	purged, err := d.journal.Purge(id, seq)
	switch {
	case errors.Is(err, journal.ErrReplaying):
		answerError(w, refuse(http.StatusConflict, "%v", err))
	case err != nil:
		answerError(w, d.unstored(err))
	case !purged:
		answerError(w, noLetter(r))
	default:
		sub.counts.Purged++
		w.WriteHeader(http.StatusNoContent)
	}
}
