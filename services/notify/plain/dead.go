package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// letterView is what the API shows of a dead letter.
type letterView struct {
	ID           string `json:"id"` // SUBSCRIPTION-SEQ
	Subscription string `json:"subscription"`
	Seq          uint64 `json:"seq"`
	Notice       struct {
		ID        string          `json:"id"`
		Key       string          `json:"key"`
		Type      string          `json:"type"`
		Timestamp time.Time       `json:"timestamp,omitzero"` // these two when one is asked for
		Payload   json.RawMessage `json:"payload,omitempty"`
	} `json:"notice"`
	Reason    string    `json:"reason"`
	Attempts  int       `json:"attempts"`
	Status    int       `json:"status"`
	Died      time.Time `json:"died"`
	Size      int       `json:"size"`
	Replaying bool      `json:"replaying,omitempty"`
}

func (sub *subscription) viewLetter(l *letter) letterView {
	v := letterView{
		ID: sub.ID + "-" + strconv.FormatUint(l.Notice.Seq, 10), Subscription: sub.ID, Seq: l.Notice.Seq,
		Reason: l.Reason, Attempts: l.Attempts, Status: l.Status, Died: l.Died, Size: l.Notice.size(), Replaying: l.Replaying,
	}
	v.Notice.ID, v.Notice.Key, v.Notice.Type = l.Notice.ID, l.Notice.Key, l.Notice.Type
	return v
}

// splitLetterID takes SUBSCRIPTION-SEQ apart.
func splitLetterID(id string) (sub string, seq uint64, ok bool) {
	i := strings.LastIndexByte(id, '-')
	if i < 0 {
		return "", 0, false
	}
	seq, err := strconv.ParseUint(id[i+1:], 10, 64)
	return id[:i], seq, err == nil
}

// listLetters answers GET /v1/dead, by subscription and number.
func (s *server) listLetters(w http.ResponseWriter, r *http.Request) {
	limit, bad := readLimit(r, 100)
	only, after := r.FormValue("subscription"), r.FormValue("after")
	afterSub, afterSeq, ok := splitLetterID(after)
	if after != "" && !ok {
		bad = refuseField("after", "%q is no dead letter's id", after)
	}
	if bad != nil {
		answerError(w, bad)
		return
	}
	var out struct {
		Dead []letterView `json:"dead"`
		Next string       `json:"next,omitempty"`
	}
	out.Dead = []letterView{}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(s.subs)) {
		sub, from := s.subs[id], 0
		if only != "" && id != only || id < afterSub {
			continue
		}
		if id == afterSub {
			from, _ = sub.findLetter(afterSeq + 1)
		}
		for _, l := range sub.letters[from:] {
			if len(out.Dead) == limit {
				out.Next = out.Dead[limit-1].ID
				answer(w, http.StatusOK, out)
				return
			}
			out.Dead = append(out.Dead, sub.viewLetter(l))
		}
	}
	answer(w, http.StatusOK, out)
}

// letter finds the dead letter that a request names. The caller holds mu.
func (s *server) letter(r *http.Request) (*subscription, *letter, error) {
	id, seq, _ := splitLetterID(r.PathValue("id"))
	if sub := s.subs[id]; sub != nil {
		if at, ok := sub.findLetter(seq); ok {
			return sub, sub.letters[at], nil
		}
	}
	return nil, nil, refuse(http.StatusNotFound, "no dead letter %q", r.PathValue("id"))
}

func (s *server) getLetter(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	sub, l, err := s.letter(r)
	var v letterView
	if err == nil {
		v = sub.viewLetter(l)
		v.Notice.Timestamp, v.Notice.Payload = l.Notice.Accepted, l.Notice.Payload
	}
	s.mu.Unlock()
	if err != nil {
		answerError(w, err)
		return
	}
	answer(w, http.StatusOK, v)
}

// replayLetter puts a dead letter at the end of its key's lane. It stays a dead letter until it is
// delivered.
func (s *server) replayLetter(w http.ResponseWriter, r *http.Request) {
	s.changeLetter(w, r, http.StatusAccepted, replay, func(sub *subscription, l *letter) error {
		switch {
		case sub.Disabled != "":
			return refuse(http.StatusConflict, "the subscription is disabled: %s; enable it first", sub.Disabled)
		case s.stopping:
			return refuse(http.StatusServiceUnavailable, "shutting down; try again later")
		case max(s.lanes, s.oldest.Len()) >= s.limits.pending:
			return refuse(http.StatusTooManyRequests, "%d notices wait to be delivered; try again later", s.oldest.Len())
		}
		return nil
	})
}

func (s *server) purgeLetter(w http.ResponseWriter, r *http.Request) {
	s.changeLetter(w, r, http.StatusNoContent, purge, func(*subscription, *letter) error { return nil })
}

func (s *server) changeLetter(w http.ResponseWriter, r *http.Request, status int, do string, permitted func(*subscription, *letter) error) {
	s.changes.Lock()
	defer s.changes.Unlock()
	s.mu.Lock()
	sub, l, err := s.letter(r)
	switch {
	case err != nil:
	case l.Replaying:
		err = refuse(http.StatusConflict, "dead letter %q is being replayed", r.PathValue("id"))
	default:
		err = permitted(sub, l)
	}
	s.mu.Unlock()
	if err == nil {
		err = s.commit(event{Do: do, Sub: sub.ID, Seq: l.Notice.Seq})
	}
	if err != nil {
		answerError(w, err)
		return
	}
	w.WriteHeader(status)
}
