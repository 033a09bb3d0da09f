// Package corpus builds the requests that a load sends, and says which answers count as success. It
// resolves weights, keys, rows and templates before the run, so that encoding costs nothing during
// the run. The result, a Corpus, is a list of prebuilt requests that are sent in turn, over and
// over or each once.
//
// It is not for sending them (http1, nethttp, flows and the other drivers do), nor for reading a
// scenario file. It starts no goroutines.
package corpus

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dyno/lab/workload"
)

// Spec is a load together with what its driver needs to send it. The same spec gives the same
// requests, also in another process that receives the spec's JSON form.
type Spec struct {
	// Load describes the requests, their defaults, their keys, and whether each row or body is
	// sent at most once. Its bodies are texts, never names of files. All its texts are templates:
	// they may hold the placeholders listed at the constant placeholders and, in a body, ${n},
	// the index of the body's copy.
	Load   workload.Load       `json:"load"`
	Bodies map[string][][]byte `json:"bodies,omitempty"` // prebuilt bodies by the name of their corpus; requests use them in turn
	Rows   *Rows               `json:"rows,omitempty"`   // values of ${row.NAME}; nil: the load has no feeder
	Run    string              `json:"run,omitempty"`    // ${run}: the run's identity in request bodies
	Seed   uint64              `json:"seed,omitempty"`
	// CA holds the authorities of Load.TLS, Descriptors the content of the descriptor set of
	// Load.GRPC: drivers read no files.
	CA          []byte `json:"ca,omitempty"`
	Descriptors []byte `json:"descriptors,omitempty"`

	// The fields below have no JSON form: they are valid in this process only.
	Supply   *Supply                         `json:"-"` // with Load.Once: counts what was sent before; nil: nothing was
	Accepted func(seq uint64, answer []byte) `json:"-"` // see Corpus.Accepted
	// Permit is called with the scheme, host and port of a redirect to another host; nil permits none.
	Permit func(origin string) error `json:"-"`
}

const (
	// most is the size of a corpus unless there are more rows or bodies: enough that keys and
	// random text look random to the target, few enough to be built in some 10 ms.
	most = 1 << 14
	// maxBytes bounds a corpus. A corpus that exceeds the processor's caches costs the generator
	// more per request; one of this size still leaves the target its memory.
	maxBytes = 256 << 20
	// maxHeaders bounds the bytes of all headers: with a million rows, each holding a token, they
	// grow long.
	maxHeaders = 1 << 30
)

// Build builds the corpus that a spec describes.
func Build(s Spec) (*Corpus, error) {
	requests := s.Load.Requests
	if len(requests) == 0 {
		requests = make([]workload.Request, 1)
	}
	if err := check(requests); err != nil {
		return nil, err
	}
	b := builder{spec: s, rng: rand.New(rand.NewPCG(s.Seed, 0x636f72707573))}
	var err error
	if b.keys, err = newKeySampler(s.Load.Keys); err != nil {
		return nil, err
	}
	for i, r := range requests {
		p, err := b.parse(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", nameOf(r, i), err)
		}
		b.classes = append(b.classes, p)
	}
	return b.build()
}

// maxClasses is the number of classes that Request.Class can represent.
const maxClasses = 256

// MaxBody bounds a body's template, from a file or of many copies.
const MaxBody = 16 << 20

// className matches names that are valid in a histogram's tag.
var className = regexp.MustCompile(`^[A-Za-z0-9_-]{0,64}$`)

func check(requests []workload.Request) error {
	if len(requests) > maxClasses {
		return fmt.Errorf("%d classes of requests; there may be %d", len(requests), maxClasses)
	}
	seen := map[string]bool{}
	for i, r := range requests {
		if !className.MatchString(r.Name) {
			return fmt.Errorf("class %q: a name is made of up to 64 letters, digits, - and _", r.Name)
		}
		name := nameOf(r, i)
		if seen[name] {
			return fmt.Errorf("%s occurs twice", name)
		}
		seen[name] = true
		if n := r.Body.Copies; n > 0 && len(r.Body.Text)+1 > MaxBody/n {
			return fmt.Errorf("body: %d copies take more than %d MiB; lower repeat", n, MaxBody>>20)
		}
	}
	return nil
}

func nameOf(r workload.Request, i int) string {
	if r.Name == "" {
		return fmt.Sprintf("class %d", i+1)
	}
	return "class " + r.Name
}

// parsed is a class of requests with its templates parsed.
type parsed struct {
	workload.Request
	path     template
	body     template
	prebuilt [][]byte // instead of body
	header   map[string]template
	fixed    http.Header // nil: some value has a placeholder, so that each request has a header of its own
	used     int         // requests built from it so far
	rows     int         // rows in each request, if each row is sent once
}

type builder struct {
	spec    Spec
	rng     *rand.Rand
	keys    *keySampler
	classes []*parsed
	row     int    // row of the request, or of the body's copy, that is being built
	copy    int    // index of the body's copy that is being built
	key     string // key of the request that is being built; empty: not drawn yet
	nextRow int    // with Load.Once: the next row that no request has
	bytes   int    // size so far of all bodies and paths
	headers int    // size so far of all headers
}

// parse fills in what a request leaves to the load's defaults, and parses its templates.
func (b *builder) parse(r workload.Request) (*parsed, error) {
	l := &b.spec.Load
	p := &parsed{Request: r, header: map[string]template{}, fixed: http.Header{}, prebuilt: b.spec.Bodies[r.Body.Corpus]}
	if r.Body.Corpus != "" && len(p.prebuilt) == 0 {
		return nil, fmt.Errorf("corpus %s: there are no bodies of it", r.Body.Corpus)
	}
	if len(p.prebuilt) > maxRows {
		return nil, fmt.Errorf("corpus %s: more than %d bodies", r.Body.Corpus, maxRows)
	}
	if r.Method == "" {
		p.Method = http.MethodGet
		if r.Body != (workload.Body{}) {
			p.Method = http.MethodPost
		}
	}
	if r.Check == nil {
		p.Check = &l.Check
	}
	if err := b.parsePath(p); err != nil {
		return nil, fmt.Errorf("path: %w", err)
	}
	header := map[string]string{}
	maps.Copy(header, l.Headers)
	maps.Copy(header, r.Headers)
	for name, value := range header {
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
	var err error
	if p.fixed != nil {
		if p.fixed, err = b.headerOf(p); err != nil {
			return nil, err
		}
	}
	if p.body, err = parseTemplate(r.Body.Text, b.spec.Rows, workload.Count); err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	if l.Traits().JSON || isJSON(header) {
		p.body.escapeJSON()
	}
	p.countRows()
	return p, nil
}

func (b *builder) parsePath(p *parsed) error {
	path := p.Path
	if path == "" {
		u, err := url.Parse(b.spec.Load.URL)
		if err != nil {
			return err
		}
		if path, err = workload.PathOf(u); err != nil {
			return err
		}
	}
	var err error
	if p.path, err = parseTemplate(path, b.spec.Rows); err != nil {
		return err
	}
	p.path.escapePath()
	if p.path.has(partID) {
		return errors.New("${id} changes with every request and is possible in a body only")
	}
	return nil
}

func isJSON(header map[string]string) bool {
	for name, value := range header {
		if strings.EqualFold(name, "Content-Type") && strings.Contains(value, "json") {
			return true
		}
	}
	return false
}

// count returns the number of requests to build: 1 if all would be equal, otherwise at least
// most; and no fewer than there are rows or prebuilt bodies.
func (b *builder) count() int {
	varies, n := len(b.classes) > 1, 1
	for _, c := range b.classes {
		varies = varies || c.path.varies() || c.fixed == nil || c.body.varies()
		n = max(n, len(c.prebuilt))
	}
	if b.spec.Rows != nil {
		n = max(n, b.spec.Rows.Len())
	}
	if varies {
		n = max(n, most)
	}
	return n
}

func (b *builder) build() (*Corpus, error) {
	out := &Corpus{Units: b.spec.Load.Units, Accepted: b.spec.Accepted}
	weights := make([]float64, len(b.classes))
	total := 0.0
	for i, c := range b.classes {
		out.Classes = append(out.Classes, Class{Name: c.Name, Check: Check{Check: *c.Check}})
		weights[i] = cmp.Or(c.Weight, 1)
		if !(weights[i] > 0) {
			return nil, fmt.Errorf("%s: the weight is %g; it must be above 0", nameOf(c.Request, i), c.Weight)
		}
		total += weights[i]
	}
	if b.spec.Load.Once {
		if err := b.checkOnce(); err != nil {
			return nil, err
		}
		if out.Supply = b.spec.Supply; out.Supply == nil {
			out.Supply = &Supply{}
		}
	}
	for i, n := 0, b.count(); i < n || b.spec.Load.Once; i++ {
		class := draw(weights, total, b.rng)
		r, err := b.request(b.classes[class], i)
		if errors.Is(err, errNoMore) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", nameOf(b.classes[class].Request, class), err)
		}
		r.Class = uint8(class)
		if b.bytes += len(r.Body) + len(r.Path); b.bytes > maxBytes {
			return nil, fmt.Errorf("the %d requests of this load take more than %d MiB; shorten the bodies, or use fewer rows", max(n, i+1), maxBytes>>20)
		}
		out.Requests = append(out.Requests, r)
	}
	return out, nil
}

// draw returns a random index; the probability of each is its share of the total weight.
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

func (b *builder) request(p *parsed, i int) (Request, error) {
	if err := b.takeRows(p, i); err != nil {
		return Request{}, err
	}
	r := Request{Method: p.Method, Path: string(b.render(nil, p.path, nil)), Header: p.fixed}
	if r.Header == nil {
		var err error
		if r.Header, err = b.headerOf(p); err != nil {
			return r, err
		}
	}
	if len(p.prebuilt) > 0 {
		r.Body = p.prebuilt[p.used%len(p.prebuilt)]
	} else {
		r.Body = b.body(p, &r.IDs)
	}
	p.used++
	return r, nil
}

// body renders the body or, if the request asks for copies, all of them.
func (b *builder) body(p *parsed, ids *[]int) (out []byte) {
	array := p.Body.Copies > 0 && p.Body.Array
	for b.copy = range max(p.Body.Copies, 1) {
		switch {
		case !array:
		case b.copy == 0:
			out = append(out, '[')
		default:
			out = append(out, ',')
		}
		out = b.render(out, p.body, ids)
		if b.spec.Load.Once && p.body.has(partRow) {
			b.row++
		}
		if p.Body.Copies > 0 && !array {
			out = append(out, '\n')
		}
	}
	if array {
		out = append(out, ']')
	}
	return out
}

func (b *builder) headerOf(p *parsed) (http.Header, error) {
	h := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(p.header)) {
		value := string(b.render(nil, p.header[name], nil))
		if b.headers += len(value); b.headers > maxHeaders {
			return nil, fmt.Errorf("header %s: the headers of this load's requests take more than %d MiB; shorten them, or use fewer rows", name, maxHeaders>>20)
		}
		if strings.ContainsAny(value, "\r\n\x00") {
			return nil, fmt.Errorf("header %s: %.60q contains a line break or NUL, which a header must not", name, value)
		}
		h.Set(name, value)
	}
	return h, nil
}

// render appends a template with its placeholders filled in. For the sequence number it appends
// zeros, which the driver overwrites, and stores their offsets in ids.
func (b *builder) render(out []byte, t template, ids *[]int) []byte {
	for _, part := range t {
		if len(out) > maxBytes { // build refuses it
			return out
		}
		switch part.kind {
		case partText:
			out = append(out, part.text...)
		case partID:
			*ids = append(*ids, len(out))
			out = append(out, "0000000000000000"[:IDLength]...)
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
		case partNamed:
			out = strconv.AppendInt(out, int64(b.copy), 10)
		case partRandom:
			out = appendRandom(out, part.length, b.rng)
		}
	}
	return out
}
