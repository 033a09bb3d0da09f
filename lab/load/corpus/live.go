package corpus

import (
	"math/rand/v2"
	"strings"
	"sync"
)

// Live fills in templates while the load runs, for requests that contain values from earlier
// answers. It is safe for concurrent use.
type Live struct {
	rows *Rows
	run  string
	seed uint64

	mu   sync.Mutex
	rng  *rand.Rand  // guarded by mu
	keys *keySampler // guarded by mu
	next int         // guarded by mu: the row of the next flow
	step int         // guarded by mu: distance from one flow's row to the next flow's
}

// NewLive returns a Live with the rows, keys, run identity and seed of a spec.
func NewLive(s Spec) (*Live, error) {
	keys, err := newKeySampler(s.Load.Keys)
	if err != nil {
		return nil, err
	}
	l := &Live{rows: s.Rows, run: s.Run, seed: s.Seed, keys: keys}
	l.Share(0, 1)
	return l, nil
}

// Share makes this process, the k-th (from 0) of n that share a load, use every n-th row
// beginning with the k-th, and draw its own random keys. It is called between drives, never
// during one.
func (l *Live) Share(k, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	const live = 0x6c697665
	l.next, l.step, l.rng = k, n, rand.New(rand.NewPCG(l.seed, live+uint64(k)))
}

// Template is a parsed text with the placeholders of a corpus and the names of saved values.
type Template struct{ parts template }

// URL parses a URL; Fill escapes rows and saved values for its path or query.
func (l *Live) URL(text string, saved []string) (Template, error) {
	t, err := parseTemplate(text, l.rows, saved...)
	t.escapePath()
	return Template{t}, err
}

// Header parses the value of a header.
func (l *Live) Header(text string, saved []string) (Template, error) {
	t, err := parseTemplate(text, l.rows, saved...)
	return Template{t}, err
}

// Body parses a body. If the header says that the body is JSON or a form, Fill escapes rows and
// saved values for it.
func (l *Live) Body(text string, header map[string]string, saved []string) (Template, error) {
	t, err := parseTemplate(text, l.rows, saved...)
	switch {
	case isJSON(header):
		t.escapeAll(asJSON)
	case isForm(header):
		t.escapeAll(asQuery)
	}
	return Template{t}, err
}

func isForm(header map[string]string) bool {
	for name, value := range header {
		if strings.EqualFold(name, "Content-Type") && strings.Contains(value, "x-www-form-urlencoded") {
			return true
		}
	}
	return false
}

// Values holds what Fill inserts into the templates of one flow; all of a flow's requests have
// the same row and the same key.
type Values struct {
	Saved map[string]string // by name

	live *Live
	seq  uint64
	row  int
	key  string // empty: not drawn yet
}

// Values returns the values of the flow with a sequence number, and gives it the next row.
func (l *Live) Values(seq uint64) *Values {
	l.mu.Lock()
	defer l.mu.Unlock()
	row := l.next
	l.next += l.step
	return &Values{Saved: map[string]string{}, live: l, seq: seq, row: row}
}

// Fill appends a template's text with its placeholders filled in.
func (v *Values) Fill(out []byte, t Template) []byte {
	for _, p := range t.parts {
		switch p.kind {
		case partText:
			out = append(out, p.text...)
		case partID:
			var id [IDLength]byte
			PutID(id[:], v.seq)
			out = append(out, id[:]...)
		case partRun:
			out = append(out, v.live.run...)
		case partKey:
			out = append(out, v.drawKey()...)
		case partRow:
			out = p.escape.append(out, v.live.rows.value(v.row, p.column))
		case partNamed:
			out = p.escape.append(out, v.Saved[p.text])
		case partRandom:
			v.live.mu.Lock()
			out = appendRandom(out, p.length, v.live.rng)
			v.live.mu.Unlock()
		}
	}
	return out
}

func (v *Values) drawKey() string {
	if v.key == "" {
		v.live.mu.Lock()
		v.key = v.live.keys.draw(v.live.rng)
		v.live.mu.Unlock()
	}
	return v.key
}
