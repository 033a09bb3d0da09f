package importer

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"dyno/lab/record"
	"dyno/lab/scenario"
	"dyno/lab/workload"
)

// Options are the choices of a conversion.
type Options struct {
	Name     string // of the scenario
	Source   string // of the input, for the comments
	Host     string // take the requests to this host; empty: to the one with most requests
	Target   string // base URL to send them to; empty: their own
	NoStatic bool   // leave out the files of a page
	Kind     string // of the load: Mix or Flows; empty: flows where values pass from one answer to the next request
	Secrets  bool   // keep secrets, in the rows
	// Rows and Bodies are files that may be written next to the scenario, as it names them; empty:
	// the scenario must stand alone.
	Rows, Bodies string
}

// Result is a scenario and what was done to get it.
type Result struct {
	Scenario []byte
	Files    []File
	Target   string // base URL of the target
	Taken    []string
	Left     []Omission
	Notes    []string
}

// File is a file next to the scenario.
type File struct {
	Name   string // as the scenario names it
	Data   []byte
	Secret bool // only its owner may read it
}

// ErrNothing means that the input has no request that a scenario could send.
var ErrNothing = errors.New("no request is left that a scenario could send")

// maxClasses is the number of kinds of requests that a scenario can have.
const maxClasses = 255

type conversion struct {
	Options
	load  *Load
	vault vault
	notes []string
	left  []Omission
	saved []Save // of all requests, also those that are left out
	rows  []map[string]string
	odd   []string // names of dropped header fields
	apart string   // why files of a page are left out of a flow
}

// item is a kind of request of the scenario that is being made; its texts are templates.
type item struct {
	method, path, body string
	header             []Field
	name               string
	flow               Flow
	line               int
	weight             float64
	count              int
}

func (i *item) key() string {
	return fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%v", i.method, i.path, i.body, i.header, i.flow.Check)
}

// Convert turns a load into a scenario that the parser of scenarios accepts.
func Convert(load *Load, o Options) (*Result, error) {
	c := &conversion{Options: o, load: load, vault: vault{keep: o.Secrets, values: map[string]string{}}, left: slices.Clone(load.Left), notes: slices.Clone(load.Notes), saved: load.Saved()}
	base, prefix, err := c.base()
	result := &Result{Target: base}
	if err == nil {
		err = c.fill(result, base, prefix)
	}
	result.Left, result.Notes = c.left, c.notes
	return result, err
}

func (c *conversion) fill(result *Result, base, prefix string) error {
	flows := c.Kind == Flows || c.Kind == "" && c.load.Flows
	if !flows {
		c.unmark()
	}
	if flows && !c.NoStatic {
		c.NoStatic, c.apart = true, "the steps of a flow follow one another, and browsers fetch these beside them; --kind requests takes them"
	}
	items, bodies := c.items(base, prefix), []byte(nil)
	if !flows {
		items, bodies = c.mix(items)
	} else {
		items = c.inTurn(items)
	}
	if len(items) == 0 {
		return ErrNothing
	}
	s := scenario.Scenario{
		Name:        cmp.Or(strings.TrimLeft(slug(c.Name), "-_"), "imported"),
		Description: fmt.Sprintf("Requests of %s.", c.Source),
		Mode:        record.KindCapacity,
		Target:      scenario.Target{URL: base},
		SLO:         record.SLO{Latency: map[string]float64{"p99": 100}, Errors: 0.01},
	}
	l := &s.Load
	l.URL, l.TLS = "${target.url}/", workload.TLS{Insecure: c.load.Insecure, HTTP2: c.load.HTTP2}
	names := names(items)
	l.Headers = texts(common(items))
	kinds := requests(items)
	switch {
	case flows:
		l.Kind, l.Steps = Flows, steps(items, kinds)
	case len(kinds) == 1:
		only(l, kinds[0])
	default:
		l.Requests = kinds
	}
	c.remark()
	if bodies != nil {
		l.Requests[0].Body = workload.Body{Corpus: c.Bodies}
		result.Files = append(result.Files, File{Name: c.Bodies, Data: bodies, Secret: true})
	}
	if rows := c.table(); rows != nil {
		if c.Rows == "" {
			return errors.New("secrets need a file of rows beside the scenario, which has no name")
		}
		l.Feeder = &workload.Feeder{File: c.Rows}
		result.Files = append(result.Files, File{Name: c.Rows, Data: rows, Secret: len(c.vault.values) > 0})
	}
	comments := scenario.Starting()
	comments.Top, comments.Names = c.comments(), names
	comments.Above["target"] = "a service that already runs; to let dyno start it, write build or command instead (see dyno init -)"
	var err error
	if result.Scenario, err = written(&s, comments); err != nil {
		return fmt.Errorf("what was read does not make a scenario: %w", err)
	}
	for i, k := range kinds {
		if flows {
			result.Taken = append(result.Taken, taken(&l.Steps[i], items[i].flow.Save))
			continue
		}
		result.Taken = append(result.Taken, fmt.Sprintf("%gx %s %s", max(k.Weight, 1), k.Method, Address(k.Path)))
	}
	return nil
}

// written returns a scenario's file, after the parser has accepted it.
func written(s *scenario.Scenario, c scenario.Comments) ([]byte, error) {
	var text bytes.Buffer
	if err := scenario.Write(&text, s, c); err != nil {
		return nil, err
	}
	if _, err := scenario.Parse("the scenario", text.Bytes()); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// only makes a load of one kind of request, which needs no list.
func only(l *workload.Load, r workload.Request) {
	l.URL = strings.TrimSuffix(l.URL, "/") + r.Path
	l.Headers = r.Headers
	if r.Check != nil {
		l.Check = *r.Check
	}
	l.Requests = []workload.Request{{Method: r.Method, Body: r.Body}}
}

// mix turns requests into the kinds of request of a mix. Equal requests become one kind with a
// weight; many that differ only by identities in their URL, or by bodies, become one kind with
// rows or a corpus next to the scenario.
func (c *conversion) mix(items []item) (out []item, bodies []byte) {
	if items = merge(items); len(items) == 0 {
		return nil, nil
	}
	items, bodies = c.bodies(items)
	return c.limit(c.collapse(items)), bodies
}

// base returns scheme and host of the target, and the prefix of every path there; it drops the
// requests to other hosts.
func (c *conversion) base() (origin, prefix string, err error) {
	if c.Target != "" {
		u, err := url.Parse(c.Target)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.User != nil {
			return "", "", fmt.Errorf("the target must be a URL such as http://127.0.0.1:8080, not %q", Address(c.Target))
		}
		origin, prefix = u.Scheme+"://"+u.Host, workload.Literal(visible(strings.TrimSuffix(u.EscapedPath(), "/")))
	}
	counts, first := map[string]int{}, map[string]int{}
	for i, r := range c.load.Requests {
		origin := originOf(r.URL)
		if _, seen := first[origin]; !seen {
			first[origin] = i
		}
		if !(c.NoStatic && isStatic(r)) {
			counts[origin]++
		}
	}
	origins := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(first[a], first[b]))
	})
	chosen := ""
	for _, o := range origins {
		if o != "" && (c.Host == "" || hostOf(o) == c.Host) {
			chosen = o
			break
		}
	}
	if c.Host != "" && chosen == "" {
		return "", "", fmt.Errorf("no request goes to %s; the hosts are %s", c.Host, strings.Join(hosts(origins), ", "))
	}
	for _, o := range origins {
		if o != "" && o != chosen {
			c.left = append(c.left, Omission{What: count(counts[o], "request") + " to " + o, Why: "a scenario has one target; choose another with --host"})
		}
	}
	c.load.Requests = slices.DeleteFunc(slices.Clone(c.load.Requests), func(r Request) bool { o := originOf(r.URL); return o != "" && o != chosen })
	if c.Target == "" && chosen == "" && len(c.load.Requests) > 0 {
		c.notes = append(c.notes, "the input names no server: http://127.0.0.1:8080 was assumed; give it with --target URL")
	}
	return cmp.Or(origin, chosen, "http://127.0.0.1:8080"), prefix, nil
}

// originOf returns scheme and host of a URL; empty: it has only a path.
func originOf(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

func hostOf(origin string) string {
	_, host, _ := strings.Cut(origin, "://")
	return host
}

func hosts(origins []string) (out []string) {
	for _, o := range origins {
		if o != "" {
			out = append(out, hostOf(o))
		}
	}
	return out
}

// items turns the requests into items.
func (c *conversion) items(base, prefix string) (out []item) {
	statics := 0
	for _, r := range c.load.Requests {
		if c.NoStatic && isStatic(r) {
			statics++
			continue
		}
		i := item{method: strings.ToUpper(r.Method), name: r.Name, flow: r.Flow, line: r.Line, weight: 1, count: 1, body: workload.Literal(r.Body)}
		what := i.method + " " + Address(r.URL)
		u, err := url.Parse(r.URL)
		if err != nil || !method(i.method) {
			c.left = append(c.left, Omission{Line: r.Line, What: what, Why: "its method or URL is not valid"})
			continue
		}
		i.path = prefix + c.path(r, u)
		if len(i.path) > 4000 {
			c.left = append(c.left, Omission{Line: r.Line, What: what, Why: "its URL has more than 4,000 characters"})
			continue
		}
		if u.User != nil {
			r.Default("Authorization", basic(u.User))
		}
		i.header = c.header(r.Header, cmp.Or(u.Host, hostOf(base)))
		if r.Body != "" && secretInBody.MatchString(savedInBody.ReplaceAllString(r.Body, "")) {
			c.note("the body of %s %s seems to hold a password or a token: it is in the scenario as it is", i.method, Address(u.Path))
		}
		out = append(out, i)
	}
	if statics > 0 {
		c.left = append(c.left, Omission{What: count(statics, "request") + " for static files", Why: cmp.Or(c.apart, "--no-static")})
	}
	return out
}

func method(s string) bool {
	return s != "" && len(s) <= 32 && !strings.ContainsFunc(s, func(r rune) bool { return r < 'A' || r > 'Z' })
}

// path returns path and query as a template, without secrets.
func (c *conversion) path(r Request, u *url.URL) string {
	address, _, _ := strings.Cut(r.URL, "#")
	before, query, asked := strings.Cut(address, "?")
	if _, rest, ok := strings.Cut(before, "://"); ok {
		_, before, _ = strings.Cut(rest, "/")
		before = "/" + before // of http://h//a the path is //a
	}
	if !r.Exact {
		before = u.EscapedPath()
	}
	path := workload.Literal(visible("/" + strings.TrimPrefix(before, "/")))
	had := query != ""
	if query = c.vault.query(visible(query)); query != "" || asked && !had {
		path += "?" + query
	}
	return path
}

// visible escapes what a URL on the wire must not contain.
func visible(s string) string {
	var out strings.Builder
	for _, b := range []byte(s) {
		if b <= ' ' || b >= 0x7f || b == '"' {
			fmt.Fprintf(&out, "%%%02X", b)
			continue
		}
		out.WriteByte(b)
	}
	return out.String()
}

// note adds a note once.
func (c *conversion) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(c.notes, n) && len(c.notes) < 100 {
		c.notes = append(c.notes, n)
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
