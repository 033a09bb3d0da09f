package release

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
)

// Status is the response of the debug address.
type Status struct {
	Stage
	Share float64 `json:"fraction"`
	URL   string  `json:"url,omitempty"` // of the current release, or of the last one

	Period Period `json:"period"` // the current one
	Latest Period `json:"latest_period"`

	Compared     Compared     `json:"compared"`
	Crowded      uint64       `json:"crowded"` // requests answered by the stable version because the canary was full
	Rescued      uint64       `json:"rescued"` // requests answered by the stable version because the canary did not answer
	Differences  []Difference `json:"differences"`
	Decisions    []Decision   `json:"decisions"` // oldest first
	PeriodLength string       `json:"period_length"`
	Rules        Rules        `json:"rules"`
}

// Compared counts a shadow's copies.
type Compared struct {
	Same         uint64 `json:"same"`
	Different    uint64 `json:"different"`
	Incomparable uint64 `json:"not_comparable"`
	Failed       uint64 `json:"failed"`  // the second version did not answer
	Dropped      uint64 `json:"dropped"` // not sent: queue full, or answer too long
}

// Status returns the state of the current release, or of the last one.
func (r *Release) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Status{
		Stage: r.stage, Share: r.stage.Share(), Latest: r.latest,
		Decisions:    append([]Decision{}, r.decisions...),
		PeriodLength: r.rules.Period.String(), Rules: r.rules,
	}
	c := r.last
	if c == nil {
		s.Differences = []Difference{}
		return s
	}
	s.URL = c.base.String()
	s.Period = Period{Stable: c.stable.sum(), Second: c.second.sum()}
	t := c.tally
	s.Compared = Compared{t.same.Load(), t.different.Load(), t.incomparable.Load(), t.failed.Load(), t.dropped.Load()}
	s.Crowded, s.Rescued = t.crowded.Load(), t.rescued.Load()
	t.mu.Lock()
	defer t.mu.Unlock()
	s.Differences = append([]Difference{}, t.examples...)
	return s
}

// maxPlan is the maximum size of a Plan in JSON, in bytes.
const maxPlan = 4 << 10

// Handler serves the debug address, whose guard it relies on. GET returns the Status; POST to
// .../start (with a Plan), .../promote and .../rollback change it and return it,
// too. Mount it at its path with and without a final slash: it reads only the last element.
func (r *Release) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		act, ok := map[string]func() error{
			"start": func() error {
				p, err := parsePlan(http.MaxBytesReader(w, req.Body, maxPlan))
				if err != nil {
					return err
				}
				return r.Start(p)
			},
			"promote":  r.Promote,
			"rollback": r.Rollback,
		}[path.Base(req.URL.Path)]
		want := http.MethodGet
		if ok {
			want = http.MethodPost
		}
		if req.Method != want {
			w.Header().Set("Allow", want)
			reply(w, http.StatusMethodNotAllowed, failure{"use " + want + " here; GET the status, POST to start, promote or rollback below it"})
			return
		}
		if ok {
			if err := act(); err != nil {
				reply(w, statusOf(err), failure{err.Error()})
				return
			}
		}
		reply(w, http.StatusOK, r.Status())
	})
}

type failure struct {
	Error string `json:"error"`
}

func statusOf(err error) int {
	if slices.ContainsFunc([]error{errRunning, errNone, errLast}, func(e error) bool { return errors.Is(err, e) }) {
		return http.StatusConflict
	}
	return http.StatusBadRequest
}

func parsePlan(body io.Reader) (p Plan, err error) {
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return Plan{}, fmt.Errorf(`reading the body: %w; send {"url":"http://HOST:PORT","mode":"shadow" or "canary","fraction":0.01}`, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Plan{}, errors.New("reading the body: more follows the object")
	}
	return p, nil
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // an error means that the client has gone
}
