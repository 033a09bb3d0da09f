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
	"dyno/services/notify/subscription"
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
func viewDeadLetter(sub string, l subscription.DeadLetter, record []byte, whole bool) (deadLetterView, error) {
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

func (a *API) listDead(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	limit, err := limitOf(r, listedLetters)
	if err != nil {
		return 0, nil, err
	}
	query := r.URL.Query()
	only, after := query.Get("subscription"), query.Get("after")
	afterSub, afterSeq, ok := parseDeadLetterID(after)
	if after != "" && !ok {
		return 0, nil, refusal.Field("after", "after: %q is no id of a dead letter, SUBSCRIPTION-SEQ", after)
	}
	out := struct {
		Dead []deadLetterView `json:"dead"`
		Next string           `json:"next,omitempty"` // ?after=NEXT goes on
	}{Dead: []deadLetterView{}}
	for sub := range a.Table.Definitions() {
		if only != "" && sub.ID != only || sub.ID < afterSub {
			continue
		}
		for _, l := range a.Store.Journal.DeadLetters(sub.ID) {
			if sub.ID == afterSub && l.Seq <= afterSeq {
				continue
			}
			if len(out.Dead) == limit {
				out.Next = out.Dead[limit-1].ID
				return http.StatusOK, out, nil
			}
			_, record, err := a.Store.Journal.DeadLetter(sub.ID, l.Seq)
			if errors.Is(err, journal.ErrUnknown) {
				continue // purged meanwhile
			}
			view, _ := viewDeadLetter(sub.ID, l, record, false) // one that cannot be read is shown without its notice
			out.Dead = append(out.Dead, view)
		}
	}
	return http.StatusOK, out, nil
}

func (a *API) getDead(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	sub, seq, _ := parseDeadLetterID(r.PathValue("id"))
	l, record, err := a.Store.Journal.DeadLetter(sub, seq)
	var view deadLetterView
	if err == nil {
		view, err = viewDeadLetter(sub, l, record, true)
	}
	return http.StatusOK, view, noDeadLetter(r, err)
}

// noDeadLetter refuses a request for what is not there; another error stays as it is.
func noDeadLetter(r *http.Request, err error) error {
	if errors.Is(err, journal.ErrUnknown) {
		return refusal.New(http.StatusNotFound, "no dead letter %q", r.PathValue("id"))
	}
	return err
}

// replayDead makes a dead letter pending again, at the end of its key's lane.
func (a *API) replayDead(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	return http.StatusAccepted, map[string]string{"id": r.PathValue("id")}, changeDead(r, a.Table.Replay)
}

func (a *API) deleteDead(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	return http.StatusNoContent, nil, changeDead(r, a.Table.Purge)
}

// changeDead calls change with what names a dead letter.
func changeDead(r *http.Request, change func(id string, seq uint64) error) error {
	id, seq, _ := parseDeadLetterID(r.PathValue("id"))
	return noDeadLetter(r, change(id, seq))
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
