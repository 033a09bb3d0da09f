// Package corpus builds the requests that a load sends: it resolves weights, keys, rows and
// templates before the run, so that encoding costs nothing during the run. The result is a list
// of prebuilt requests that are sent in turn, over and over or each once (request.Corpus).
//
// It is not for sending them, nor for reading a scenario file. It starts no goroutines.
package corpus

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"dyno/lab/load/request"
	"dyno/lab/workload"
)

// Spec describes a corpus.
type Spec struct {
	Classes []Class // at least one
	Keys    workload.Keys
	Rows    *Rows  // values of ${row.NAME}; nil: there are none
	Run     string // ${run}: the run's identity in request bodies
	Seed    uint64 // the same spec and seed give the same corpus
	// Once builds as many requests as the rows or bodies last for, so that each of them is sent at
	// most once. Each of a class's Copies then has a row of its own.
	Once bool
}

// Class is a kind of request. Path, header values and Body are templates; see Placeholders.
type Class struct {
	Name   string
	Weight float64 // share relative to the other classes; 0: 1
	Method string
	Path   string // path and query
	Header map[string]string
	Body   string
	// Copies are templates that together are the body, instead of Body: a line each or, if Array is
	// set, the members of a JSON array.
	Copies []string
	Array  bool
	JSON   bool // the body is JSON, whatever Header says: rows are escaped in it
	// Bodies are prebuilt bodies, used in turn instead of Body.
	Bodies [][]byte
	Check  request.Check
}

const (
	// most is the size of a corpus unless there are more rows or bodies: enough that keys and
	// random text look random to the target, few enough to be built in some 10 ms.
	most = 1 << 14
	// maxBytes bounds a corpus. A corpus that exceeds the processor's caches costs the generator
	// more per request; one of this size still leaves the target its memory.
	maxBytes = 256 << 20
)

// Build resolves the spec.
func Build(s Spec) (*request.Corpus, error) {
	if err := checkClasses(s.Classes); err != nil {
		return nil, err
	}
	b := builder{spec: s, rng: rand.New(rand.NewPCG(s.Seed, 0x636f72707573))}
	var err error
	if b.keys, err = newKeySampler(s.Keys); err != nil {
		return nil, err
	}
	for i, c := range s.Classes {
		p, err := b.parse(c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", nameOf(c, i), err)
		}
		b.classes = append(b.classes, p)
	}
	return b.build()
}

// maxClasses is the number of classes that request.Request.Class can represent.
const maxClasses = 256

// className matches names that are valid in a histogram's tag.
var className = regexp.MustCompile(`^[A-Za-z0-9_-]{0,64}$`)

func checkClasses(classes []Class) error {
	if len(classes) == 0 {
		return errors.New("a corpus needs at least one class of requests")
	}
	if len(classes) > maxClasses {
		return fmt.Errorf("%d classes of requests; there may be %d", len(classes), maxClasses)
	}
	seen := map[string]bool{}
	for i, c := range classes {
		if !className.MatchString(c.Name) {
			return fmt.Errorf("class %q: a name is made of up to 64 letters, digits, - and _", c.Name)
		}
		if name := nameOf(c, i); seen[name] {
			return fmt.Errorf("%s occurs twice", name)
		}
		seen[nameOf(c, i)] = true
	}
	return nil
}

func nameOf(c Class, i int) string {
	if c.Name == "" {
		return fmt.Sprintf("class %d", i+1)
	}
	return "class " + c.Name
}

// parsed is a class with its templates parsed.
type parsed struct {
	Class
	path   template
	bodies []template // the body, or its copies
	header map[string]template
	fixed  http.Header // nil: some value has a placeholder
	used   int         // requests built from it so far
	rows   int         // rows in each request, if each row is sent once
}

type builder struct {
	spec    Spec
	rng     *rand.Rand
	keys    *keySampler
	classes []*parsed
	row     int    // of the request, or of the copy, being built
	key     string // of the request being built; empty: not drawn yet
	nextRow int    // the next row, if each is sent once
	bytes   int
}

func (b *builder) parse(c Class) (*parsed, error) {
	p := &parsed{Class: c, header: map[string]template{}, fixed: http.Header{}}
	var err error
	if p.path, err = parseTemplate(c.Path, b.spec.Rows); err != nil {
		return nil, fmt.Errorf("path: %w", err)
	}
	p.path.escapePath()
	if p.path.has(partID) {
		return nil, errors.New("path: ${id} changes with every request and is possible in a body only")
	}
	for name, value := range c.Header {
		t, err := parseTemplate(value, b.spec.Rows)
		if err != nil {
			return nil, fmt.Errorf("header %s: %w", name, err)
		}
		if t.has(partID) {
			return nil, fmt.Errorf("header %s: ${id} changes with every request and is possible in a body only", name)
		}
		p.header[name] = t
		if t.varies() {
			p.fixed = nil
		}
	}
	if p.fixed != nil {
		if p.fixed, err = b.headerOf(p); err != nil {
			return nil, err
		}
	}
	texts := c.Copies
	if texts == nil {
		texts = []string{c.Body}
	}
	for _, text := range texts {
		t, err := parseTemplate(text, b.spec.Rows)
		if err != nil {
			return nil, fmt.Errorf("body: %w", err)
		}
		if c.JSON || isJSON(c.Header) {
			t.escapeJSON()
		}
		p.bodies = append(p.bodies, t)
	}
	p.countRows()
	return p, nil
}

func isJSON(header map[string]string) bool {
	for name, value := range header {
		if strings.EqualFold(name, "Content-Type") && strings.Contains(value, "json") {
			return true
		}
	}
	return false
}

// count returns the number of requests: one per class if nothing varies, all rows and bodies if
// there are many.
func (b *builder) count() int {
	varies, n := len(b.classes) > 1, 1
	for _, c := range b.classes {
		varies = varies || c.path.varies() || c.fixed == nil || slices.ContainsFunc(c.bodies, template.varies)
		n = max(n, len(c.Bodies))
	}
	if b.spec.Rows != nil {
		n = max(n, b.spec.Rows.Len())
	}
	if varies {
		n = max(n, most)
	}
	return n
}

func (b *builder) build() (*request.Corpus, error) {
	out := &request.Corpus{}
	weights := make([]float64, len(b.classes))
	total := 0.0
	for i, c := range b.classes {
		out.Classes = append(out.Classes, request.Class{Name: c.Name, Check: c.Check})
		weights[i] = c.Weight
		if weights[i] == 0 {
			weights[i] = 1
		}
		if !(weights[i] > 0) {
			return nil, fmt.Errorf("%s: the weight is %g; it must be above 0", nameOf(c.Class, i), c.Weight)
		}
		total += weights[i]
	}
	if b.spec.Once {
		if err := b.checkOnce(); err != nil {
			return nil, err
		}
		out.Supply = &request.Supply{}
	}
	for i, n := 0, b.count(); i < n || b.spec.Once; i++ {
		class := draw(weights, total, b.rng)
		r, err := b.request(b.classes[class], i)
		if errors.Is(err, errNoMore) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", nameOf(b.classes[class].Class, class), err)
		}
		r.Class = uint8(class)
		if b.bytes += len(r.Body) + len(r.Path); b.bytes > maxBytes {
			return nil, fmt.Errorf("the %d requests of this load take more than %d MiB; shorten the bodies, or use fewer rows", max(n, i+1), maxBytes>>20)
		}
		out.Requests = append(out.Requests, r)
	}
	return out, nil
}

// draw returns an index with a probability that is its share of the total weight.
func draw(weights []float64, total float64, rng *rand.Rand) int {
	if len(weights) == 1 {
		return 0
	}
	at := rng.Float64() * total
	for i, w := range weights {
		if at -= w; at < 0 {
			return i
		}
	}
	return len(weights) - 1
}

func (b *builder) request(p *parsed, i int) (request.Request, error) {
	if err := b.takeRows(p, i); err != nil {
		return request.Request{}, err
	}
	r := request.Request{Method: p.Method, Path: string(b.render(nil, p.path, nil)), Header: p.fixed}
	if r.Header == nil {
		var err error
		if r.Header, err = b.headerOf(p); err != nil {
			return r, err
		}
	}
	if len(p.Bodies) > 0 {
		r.Body = p.Bodies[p.used%len(p.Bodies)]
	} else {
		r.Body = b.body(p, &r.IDs)
	}
	p.used++
	return r, nil
}

// body renders the templates of a body.
func (b *builder) body(p *parsed, ids *[]int) (out []byte) {
	for k, t := range p.bodies {
		switch {
		case !p.Array:
		case k == 0:
			out = append(out, '[')
		default:
			out = append(out, ',')
		}
		out = b.render(out, t, ids)
		if b.spec.Once && t.has(partRow) {
			b.row++
		}
		if p.Copies != nil && !p.Array {
			out = append(out, '\n')
		}
	}
	if p.Array {
		out = append(out, ']')
	}
	return out
}

func (b *builder) headerOf(p *parsed) (http.Header, error) {
	h := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(p.header)) {
		value := string(b.render(nil, p.header[name], nil))
		if strings.ContainsAny(value, "\r\n\x00") {
			return nil, fmt.Errorf("header %s: %.60q contains a line break or NUL, which a header must not", name, value)
		}
		h.Set(name, value)
	}
	return h, nil
}

// render appends a template with every placeholder filled in but the sequence number, whose
// offsets go to ids.
func (b *builder) render(out []byte, t template, ids *[]int) []byte {
	for _, part := range t {
		switch part.kind {
		case partText:
			out = append(out, part.text...)
		case partID:
			*ids = append(*ids, len(out))
			out = append(out, "0000000000000000"[:request.IDLength]...)
		case partRun:
			out = append(out, b.spec.Run...)
		case partKey:
			if b.key == "" { // one key per request, however often it occurs
				b.key = b.keys.draw(b.rng)
			}
			out = append(out, b.key...)
		case partRow:
			value := b.spec.Rows.value(b.row, part.column)
			out = part.escape.append(out, value)
		case partRandom:
			out = appendRandom(out, part.length, b.rng)
		}
	}
	return out
}

// appendRandom appends letters and digits, which need no escape in JSON, URLs and headers.
func appendRandom(out []byte, n int, rng *rand.Rand) []byte {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	for range n {
		out = append(out, letters[rng.IntN(len(letters))])
	}
	return out
}
