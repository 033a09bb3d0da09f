package revisions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dyno/cmd/dyno/request"
	"dyno/cmd/dyno/usage"
	"dyno/lab/compare"
	"dyno/lab/experiment"
	"dyno/lab/revision"
	"dyno/lab/scenario"
)

// Schema names the JSON form of Found.
const Schema = "dyno.bisect/1"

// File is the name of the file with a Found in the folder of the records.
const File = "bisect.json"

// states are the names of the states of a commit.
var states = map[revision.State]string{revision.Good: "good", revision.Bad: "bad", revision.Skipped: "skipped", revision.Undecided: "not decided"}

// Commit is a commit of a search and what is known of it.
type Commit struct {
	Hash     string      `json:"hash"`
	Subject  string      `json:"subject"`
	Time     time.Time   `json:"time"`
	Merge    bool        `json:"merge,omitempty"`
	State    string      `json:"state"`
	Reason   string      `json:"reason"` // in words
	Ratio    float64     `json:"ratio,omitempty"`
	Interval *[2]float64 `json:"interval,omitempty"` // with the noise floor
	Out      string      `json:"out,omitempty"`      // folder of its measurement
	// Same is the commit that builds the same program, if that one was measured in its place.
	Same string `json:"same,omitempty"`
}

// Found is the result of a search.
type Found struct {
	Schema string `json:"schema"`
	Gate   string `json:"gate"`
	Good   string `json:"good"`
	Bad    string `json:"bad"`
	// First is the first commit that misses the gate; nil: it is one of Suspects, or none was found.
	First    *Commit  `json:"first"`
	Suspects []Commit `json:"suspects"` // in the order of the line
	Tried    []Commit `json:"tried"`    // in the order of the line
	Commits  int      `json:"commits"`  // of the line
	Answer   string   `json:"answer"`
}

// Measure compares the two variants of a scenario by the gate's metric; n is the number of the
// measurement, and out the folder of its record.
type Measure func(ctx context.Context, sc *scenario.Scenario, n int) (result *compare.Comparison, out string, err error)

// search is a search for the first commit of a line of commits that misses a gate.
type search struct {
	build   func(ctx context.Context, rev revision.Revision) (revision.Program, error)
	between func(sides ...request.Side) *scenario.Scenario
	measure Measure
	say     func(text string)

	gate     compare.Gate
	good     revision.Program
	line     []revision.Revision
	states   []revision.State
	commits  []Commit
	measured int
	known    map[string]int // sum of a program -> index of the first commit that builds it; -1: the good one
}

// Find searches for the first commit after good, up to bad, that misses the gate in comparison
// with good.
func (s *Source) Find(ctx context.Context, good, bad string, gate compare.Gate, measure Measure) (*Found, error) {
	first, err := s.commit(ctx, good)
	if err != nil {
		return nil, err
	}
	last, err := s.commit(ctx, bad)
	if err != nil {
		return nil, err
	}
	line, err := s.repository.Between(ctx, first, last)
	if err != nil {
		return nil, usage.Of(err)
	}
	if len(line) == 0 {
		return nil, usage.Errorf("there is no commit after %s up to %s", first.Title(), last.Title())
	}
	x := &search{build: s.build, between: s.start.Between, measure: measure, say: s.say, gate: gate, line: line}
	return x.find(ctx, first)
}

// find searches the line of commits that follow the good one.
func (x *search) find(ctx context.Context, first revision.Revision) (found *Found, err error) {
	last := x.line[len(x.line)-1]
	if x.good, err = x.build(ctx, first); err != nil {
		return nil, err
	}
	x.known = map[string]int{x.good.Sum: -1}
	x.states, x.commits = make([]revision.State, len(x.line)), make([]Commit, len(x.line))
	found = &Found{Schema: Schema, Gate: x.gate.String(), Good: first.Title(), Bad: last.Title(), Commits: len(x.line), Suspects: []Commit{}}
	end := len(x.line) - 1
	if err := x.try(ctx, end); err != nil {
		return nil, err
	}
	if x.states[end] != revision.Bad {
		found.Answer = fmt.Sprintf("%s does not miss the gate against %s, so there is no commit to find: %s", last.Title(), first.Title(), x.commits[end].Reason)
		if x.states[end] != revision.Good {
			found.Answer = fmt.Sprintf("not decided: it is not known whether %s misses the gate against %s: %s", last.Title(), first.Title(), x.commits[end].Reason)
		}
		found.Tried = x.tried()
		return found, nil
	}
	for {
		i, done := revision.Next(x.states)
		if done {
			break
		}
		x.say(fmt.Sprintf("%d commits, about %d left to measure", len(x.line), revision.Left(x.states)))
		if err := x.try(ctx, i); err != nil {
			return nil, err
		}
	}
	x.conclude(found)
	return found, nil
}

// commit resolves the name of the good or the bad revision.
func (s *Source) commit(ctx context.Context, name string) (revision.Revision, error) {
	rev, err := s.repository.Resolve(ctx, name)
	if err == nil && rev.Hash == "" {
		err = errors.New("bisect searches commits, and the folder as it is now is none: name one with --good and --bad")
	}
	if err != nil && ctx.Err() == nil {
		err = usage.Of(err)
	}
	return rev, err
}

// try builds a commit of the line and measures it. An error ends the search.
func (x *search) try(ctx context.Context, i int) error {
	rev := x.line[i]
	c := &x.commits[i]
	*c = Commit{Hash: rev.Hash, Subject: rev.Subject, Time: rev.Time, Merge: rev.Merge}
	state, err := x.judge(ctx, i, c)
	if err != nil {
		return err
	}
	x.states[i], c.State = state, states[state]
	x.say(fmt.Sprintf("%s %s: %s (%s)", rev.Short(), c.State, c.Reason, rev.Subject))
	return nil
}

// judge determines the state of a commit, and stores the reason.
func (x *search) judge(ctx context.Context, i int, c *Commit) (revision.State, error) {
	p, err := x.build(ctx, x.line[i])
	if unbuilt := new(revision.BuildError); errors.As(err, &unbuilt) {
		c.Reason = "it does not build: " + firstLine(unbuilt.Err)
		return revision.Skipped, nil
	}
	if err != nil {
		return 0, err
	}
	if of, known := x.known[p.Sum]; known && of < 0 {
		c.Same, c.Reason = x.good.Hash, "it builds the same program as "+x.good.Title()
		return revision.Good, nil
	} else if known {
		same := x.commits[of]
		c.Same, c.Reason, c.Ratio, c.Interval, c.Out = same.Hash, "it builds the same program as "+x.line[of].Short()+": "+same.Reason, same.Ratio, same.Interval, same.Out
		return x.states[of], nil
	}
	x.known[p.Sum] = i
	x.measured++
	result, out, err := x.measure(ctx, x.between(side(x.good), side(p)), x.measured)
	c.Out = out
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case errors.Is(err, experiment.ErrUnfit):
		c.Reason = firstLine(err)
		return revision.Undecided, nil
	case err != nil:
		c.Reason = "it could not be measured: " + firstLine(err)
		return revision.Skipped, nil
	}
	verdict := x.gate.Check(*result)
	c.Ratio, c.Interval, c.Reason = result.Ratio, result.Interval, verdict.Text
	switch verdict.Verdict {
	case compare.Pass:
		return revision.Good, nil
	case compare.Fail:
		return revision.Bad, nil
	}
	return revision.Undecided, nil
}

// conclude stores the result of a finished search.
func (x *search) conclude(found *Found) {
	for _, i := range revision.Suspects(x.states) {
		found.Suspects = append(found.Suspects, x.commits[i])
	}
	found.Tried = x.tried()
	last := found.Suspects[len(found.Suspects)-1]
	if len(found.Suspects) > 1 {
		found.Answer = fmt.Sprintf("not decided: the first commit that misses %s is one of %d, up to %s; the others could not be judged", found.Gate, len(found.Suspects), last.short())
		return
	}
	found.First = &last
	found.Answer = fmt.Sprintf("the first commit that misses %s is %s: %s", found.Gate, last.short(), last.Reason)
	if last.Merge {
		found.Answer += "; it is a merge, so the cause may be any commit of its branch"
	}
}

// keep writes the result beside the records of its measurements, for dyno live; of a search that
// measured nothing there is no folder.
func (f *Found) keep(dir string) error {
	if _, err := os.Stat(dir); err != nil {
		return nil
	}
	b, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the result: %w", err)
	}
	path := filepath.Join(dir, File)
	tmp := path + ".tmp"
	if err := os.WriteFile(tmp, append(b, '\n'), 0o644); err != nil {
		os.Remove(tmp)
		return fmt.Errorf("writing the result: %w", err)
	}
	return os.Rename(tmp, path)
}

func (c Commit) short() string {
	return revision.Revision{Hash: c.Hash}.Short() + " (" + c.Subject + ")"
}

func (x *search) tried() (out []Commit) {
	for i, c := range x.commits {
		if x.states[i] != revision.Untried {
			out = append(out, c)
		}
	}
	return out
}

// firstLine returns the first line of an error, shortened: a compiler's message may fill a page.
func firstLine(err error) string {
	const most = 200 // bytes
	text, _, _ := strings.Cut(err.Error(), "\n")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
