package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"dyno/parts/refusal"
	"dyno/services/notify/journal"
	"dyno/services/notify/notice"
	"dyno/services/notify/routing"
)

// deadLetterView is what the API shows of a dead letter.
type deadLetterView struct {
	ID           string     `json:"id"`
	Subscription string     `json:"subscription"`
	Seq          uint64     `json:"seq"`
	Notice       deadNotice `json:"notice"`
	Reason       string     `json:"reason"`
	Attempts     int        `json:"attempts"`
	Status       int        `json:"status,omitempty"` // of the last answer
	Died         time.Time  `json:"died"`
	Size         int        `json:"size"` // bytes
	Replaying    bool       `json:"replaying,omitempty"`
}

type deadNotice struct {
	ID        string          `json:"id"`
	Key       string          `json:"key"`
	Type      string          `json:"type"`
	Timestamp *time.Time      `json:"timestamp,omitempty"` // only with the payload
	Payload   json.RawMessage `json:"payload,omitempty"`
}

// viewDeadLetter shows a dead letter, whose record names the notice.
func viewDeadLetter(sub string, l journal.DeadLetter, record []byte, whole bool) (deadLetterView, error) {
	v := deadLetterView{
		ID: deadLetterID(sub, l.Seq), Subscription: sub, Seq: l.Seq, Reason: l.Reason, Attempts: l.Attempts, Status: l.Status,
		Died: l.DeadAt.UTC(), Size: l.Size, Replaying: l.Replaying,
	}
	n, err := notice.Decode(l.Seq, record)
	if err != nil {
		return v, err
	}
	v.Notice = deadNotice{ID: n.ID, Key: n.Key, Type: n.Type}
	if whole {
		at := n.Timestamp()
		v.Notice.Timestamp, v.Notice.Payload = &at, n.Payload
	}
	return v, nil
}

func (a *API) listDead(w http.ResponseWriter, r *http.Request) {
	limit, err := limitOf(r, listedLetters)
	if err != nil {
		AnswerError(w, err)
		return
	}
	query := r.URL.Query()
	only, after := query.Get("subscription"), query.Get("after")
	afterSub, afterSeq, ok := parseDeadLetterID(after)
	if after != "" && !ok {
		AnswerError(w, refusal.Field("after", "after: %q is no id of a dead letter, SUBSCRIPTION-SEQ", after))
		return
	}
	out := struct {
		Dead []deadLetterView `json:"dead"`
		Next string           `json:"next,omitempty"` // ?after=NEXT goes on
	}{Dead: []deadLetterView{}}
	for _, sub := range a.Table.All() {
		if only != "" && sub.ID != only || sub.ID < afterSub {
			continue
		}
		for _, l := range a.Store.Journal.DeadLetters(sub.ID) {
			if sub.ID == afterSub && l.Seq <= afterSeq {
				continue
			}
			if len(out.Dead) == limit {
				out.Next = out.Dead[limit-1].ID
				answer(w, http.StatusOK, out)
				return
			}
			_, record, err := a.Store.Journal.DeadLetter(sub.ID, l.Seq)
			if errors.Is(err, journal.ErrUnknown) {
				continue // purged meanwhile
			}
			view, _ := viewDeadLetter(sub.ID, l, record, false) // one that cannot be read is shown without its notice
			out.Dead = append(out.Dead, view)
		}
	}
	answer(w, http.StatusOK, out)
}

func (a *API) getDead(w http.ResponseWriter, r *http.Request) {
	sub, seq, _ := parseDeadLetterID(r.PathValue("id"))
	l, record, err := a.Store.Journal.DeadLetter(sub, seq)
	if errors.Is(err, journal.ErrUnknown) {
		AnswerError(w, noDeadLetter(r))
		return
	}
	var view deadLetterView
	if err == nil {
		view, err = viewDeadLetter(sub, l, record, true)
	}
	if err != nil {
		AnswerError(w, err)
		return
	}
	answer(w, http.StatusOK, view)
}

func noDeadLetter(r *http.Request) error {
	return refusal.New(http.StatusNotFound, "no dead letter %q", r.PathValue("id"))
}

// replayDead makes a dead letter pending again, at the end of its key's lane.
func (a *API) replayDead(w http.ResponseWriter, r *http.Request) {
	id, seq, _ := parseDeadLetterID(r.PathValue("id"))
	sub := a.Table.Get(id)
	if sub == nil {
		AnswerError(w, noDeadLetter(r))
		return
	}
	if err := a.replay(sub, seq); err != nil {
		if errors.Is(err, journal.ErrUnknown) {
			err = noDeadLetter(r)
		}
		AnswerError(w, err)
		return
	}
	answer(w, http.StatusAccepted, map[string]string{"id": r.PathValue("id")})
}

func (a *API) replay(sub *routing.Subscription, seq uint64) error {
	sub.Mu.Lock()
	defer sub.Mu.Unlock()
	if sub.Gone {
		return journal.ErrUnknown
	}
	if sub.Def.Disabled != "" {
		return refusal.New(http.StatusConflict, "the subscription is disabled (%s); enable it first with PATCH {\"disabled\":false}", sub.Def.Disabled)
	}
	letter, record, ok, err := a.Store.Journal.Replay(sub.ID, seq)
	switch {
	case errors.Is(err, journal.ErrReplaying):
		return refusal.New(http.StatusConflict, "%v", err)
	case err != nil:
		return a.Store.Refuse(err)
	case !ok:
		return journal.ErrUnknown
	}
	sub.Counts.Dead--
	return a.Reader.Replay(sub, letter, record)
}

func (a *API) deleteDead(w http.ResponseWriter, r *http.Request) {
	id, seq, _ := parseDeadLetterID(r.PathValue("id"))
	sub := a.Table.Get(id)
	if sub == nil {
		AnswerError(w, noDeadLetter(r))
		return
	}
	sub.Mu.Lock()
	defer sub.Mu.Unlock()
	purged, err := a.Store.Journal.Purge(id, seq)
	switch {
	case errors.Is(err, journal.ErrReplaying):
		AnswerError(w, refusal.New(http.StatusConflict, "%v", err))
	case err != nil:
		AnswerError(w, a.Store.Refuse(err))
	case !purged:
		AnswerError(w, noDeadLetter(r))
	default:
		sub.Counts.Purged++
		w.WriteHeader(http.StatusNoContent)
	}
}

// deadLetterID names a dead letter; parseDeadLetterID reads the name.
func deadLetterID(sub string, seq uint64) string { return fmt.Sprintf("%s-%d", sub, seq) }

func parseDeadLetterID(id string) (sub string, seq uint64, ok bool) {
	sub, number, found := strings.Cut(id, "-")
	if !found {
		return "", 0, false
	}
	_, err := fmt.Sscanf(number, "%d", &seq)
	return sub, seq, err == nil && deadLetterID(sub, seq) == id
}
