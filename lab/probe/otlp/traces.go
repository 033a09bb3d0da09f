package otlp

import (
	"container/list"

	"dyno/agent/monotonic"
)

// Bounds on traces that may still grow. The spans of a trace come from several processes. Each
// process sends its spans every few seconds, and again if an attempt fails.
const (
	maxOpen  = 1 << 18 // spans in open traces; about 40 MB
	maxTrace = 4096    // spans of one trace
	maxQuiet = 60e9    // time without a new span, in ns, after which a trace is closed
)

// traces collects spans into traces, and turns traces into samples once they are closed. It is not
// safe for concurrent use.
type traces struct {
	room    int   // maxOpen
	offset  int64 // from Unix time to CLOCK_MONOTONIC, ns
	open    map[[16]byte]*list.Element
	quiet   *list.List // of *trace, the least recently extended first
	spans   int        // in open traces
	early   int64
	names   names
	samples samples
}

// trace is one trace that may still grow.
type trace struct {
	id    [16]byte
	spans []span
	last  int64 // when its last span arrived, ns, monotonic
}

func newTraces(offset int64) traces {
	return traces{room: maxOpen, offset: offset, open: map[[16]byte]*list.Element{}, quiet: list.New(), names: names{}, samples: newSamples()}
}

// add adds spans and returns how many exceeded the limit of their trace.
func (t *traces) add(spans []span) (tooMany int64) {
	now := monotonic.Now()
	for _, s := range spans {
		if !t.put(s, now) {
			tooMany++
		}
	}
	t.closeQuiet(now)
	return tooMany
}

func (t *traces) put(s span, now int64) bool {
	at := t.open[s.trace]
	if at == nil {
		at = t.quiet.PushBack(&trace{id: s.trace})
		t.open[s.trace] = at
	}
	tr := at.Value.(*trace)
	if len(tr.spans) == maxTrace {
		return false
	}
	s.name = t.names.one(s.name)
	s.start += t.offset
	s.end += t.offset
	tr.spans = append(tr.spans, s)
	tr.last = now
	t.spans++
	t.quiet.MoveToBack(at)
	return true
}

// closeQuiet closes the traces without a new span for maxQuiet, and further ones if room is needed.
func (t *traces) closeQuiet(now int64) {
	for at := t.quiet.Front(); at != nil; at = t.quiet.Front() {
		tr := at.Value.(*trace)
		over := now-tr.last > maxQuiet
		if !over && t.spans <= t.room {
			return
		}
		if !over {
			t.early++
		}
		for _, s := range tr.steps() {
			t.samples.add(tr.id, s)
		}
		t.spans -= len(tr.spans)
		t.quiet.Remove(at)
		delete(t.open, tr.id)
	}
}

// names keeps one copy of each name, and a bounded number of them.
type names map[string]string

const (
	maxNames  = 1024
	otherName = "(other)" // replaces all further names: if names contain an ID, each request has another
)

func (n names) one(name string) string {
	if have, ok := n[name]; ok {
		return have
	}
	if len(n) >= maxNames {
		return otherName
	}
	n[name] = name
	return name
}
