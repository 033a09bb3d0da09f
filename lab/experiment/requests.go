package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"time"

	"dyno/lab/load"
	"dyno/lab/load/corpus"
	"dyno/lab/load/raw"
	"dyno/lab/load/receipts"
	"dyno/lab/load/std"
	"dyno/lab/record"
	"dyno/lab/scenario"
)

// driveRequests makes the load generator for a ready target, and opens the sink's stream of
// receipts.
func (b *runner) driveRequests(ctx context.Context, s *environment, v scenario.Variant, r *record.Run, d *drive) error {
	if err := b.makeRequests(s, v, r, d); err != nil {
		return err
	}
	return b.followReceipts(ctx, s, d.run, d)
}

// makeRequests makes the load generator for a ready target.
func (b *runner) makeRequests(s *environment, v scenario.Variant, r *record.Run, d *drive) error {
	u, err := b.address(s, v)
	if err != nil {
		return err
	}
	r.Load.URL = u.String()
	d.run = runName(r.ID)
	requests, err := b.corpus(s, b.Scenario.LoadOf(v), u, d.run, r.Load.Seed)
	if err != nil {
		return &ScenarioError{fmt.Errorf("load: %w", err)}
	}
	d.plan.Classes = requests.ClassNames()
	if d.driver, err = b.engine(u, requests); err != nil {
		return &ScenarioError{err}
	}
	return nil
}

// address returns the URL of a variant's load.
func (b *runner) address(s *environment, v scenario.Variant) (*url.URL, error) {
	t := b.Scenario.TargetOf(v)
	address, err := s.expand("load.url", cmp.Or(b.Scenario.LoadOf(v).URL, t.URL))
	if t.URL != "" && b.Scenario.Target.URL != t.URL {
		address = t.URL // a variant that runs elsewhere
	}
	if err != nil {
		return nil, err
	}
	if err := b.permitted(address); err != nil {
		return nil, err
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil, &ScenarioError{fmt.Errorf("load.url %q is not a URL with a host", record.RedactURL(address))}
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, &ScenarioError{fmt.Errorf("load.url %q has no port from 1 to 65535", record.RedactURL(address))}
		}
	}
	return u, nil
}

// runName is the run's identity in request bodies: eight hexadecimal digits.
func runName(id string) string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s %d", id, time.Now().UnixNano())
	return fmt.Sprintf("%08x", h.Sum32())
}

// engine makes the driver: raw if possible, std otherwise.
func (b *runner) engine(u *url.URL, requests *load.Corpus) (load.Driver, error) {
	l := b.Scenario.Load
	rawCan := u.Scheme == "http" && !l.TLS.HTTP2 && l.Think == 0 && runtime.GOOS == "linux"
	origin := u.Scheme + "://" + u.Host
	switch {
	case l.Engine == "raw" && !rawCan:
		return nil, errors.New("the raw engine speaks HTTP/1.1 without TLS or think time, on Linux; use engine std")
	case l.Engine == "raw", l.Engine != "std" && rawCan:
		return raw.New(raw.Config{Target: origin, Corpus: requests, Pipeline: l.Pipeline, Realtime: true})
	case l.Pipeline > 1:
		return nil, errors.New("only the raw engine pipelines requests")
	}
	return b.standard(u, requests)
}

// standard makes the net/http driver.
func (b *runner) standard(u *url.URL, requests *load.Corpus) (*std.Driver, error) {
	l := b.Scenario.Load
	c := std.Config{Target: u.Scheme + "://" + u.Host, Corpus: requests, HTTP2: l.TLS.HTTP2, Think: l.Think, TLS: std.TLS{Insecure: l.TLS.Insecure}}
	if l.TLS.CA != "" {
		c.TLS.CAFile = b.Scenario.Resolve(l.TLS.CA)
	}
	return std.New(c)
}

// corpus builds the requests of a run.
func (b *runner) corpus(s *environment, l scenario.Load, u *url.URL, run string, seed uint64) (*load.Corpus, error) {
	spec := corpus.Spec{Keys: corpus.Keys(keysOf(l)), Rows: b.rows, Run: run, Seed: seed}
	classes := l.Classes
	if len(classes) == 0 {
		classes = []scenario.Class{{}}
	}
	for _, c := range classes {
		class, err := b.class(s, l, u, c)
		if err != nil {
			return nil, err
		}
		spec.Classes = append(spec.Classes, class)
	}
	return corpus.Build(spec)
}

func keysOf(l scenario.Load) scenario.Keys {
	if l.Keys == nil {
		return scenario.Keys{}
	}
	return *l.Keys
}

// class completes a class of the scenario with the load's common fields.
func (b *runner) class(s *environment, l scenario.Load, u *url.URL, c scenario.Class) (corpus.Class, error) {
	out := corpus.Class{Name: c.Name, Weight: c.Weight, Path: cmp.Or(c.Path, u.RequestURI()), Header: map[string]string{}}
	var err error
	if out.Body, err = b.body(cmp.Or(c.Body, l.Body), cmp.Or(c.BodyFile, l.BodyFile)); err != nil {
		return out, err
	}
	if out.Body, err = s.lines(out.Body, l.Repeat); err != nil {
		return out, err
	}
	if out.Path, err = s.expand("path", out.Path); err != nil {
		return out, err
	}
	if l.Corpus != "" {
		if out.Bodies, err = readFile(b.Scenario, l.Corpus, corpus.ReadBodies); err != nil {
			return out, fmt.Errorf("corpus %s: %w", l.Corpus, err)
		}
	}
	out.Method = cmp.Or(c.Method, l.Method)
	if out.Method == "" {
		out.Method = http.MethodGet
		if out.Body != "" || len(out.Bodies) > 0 {
			out.Method = http.MethodPost
		}
	}
	maps.Copy(out.Header, l.Headers)
	maps.Copy(out.Header, c.Headers)
	for name, value := range out.Header {
		if out.Header[name], err = s.expand("header "+name, value); err != nil {
			return out, err
		}
	}
	check := l.Check
	if c.Check != nil {
		check = *c.Check
	}
	out.Check = load.Check{Status: check.Status, Header: check.Header}
	for _, t := range check.JSON {
		out.Check.JSON = append(out.Check.JSON, load.JSONTest(t))
	}
	return out, nil
}

// lines replaces the placeholders in a body's template, and repeats it, one copy per line. With 0
// there is just the template.
func (s *environment) lines(template string, repeat int) (string, error) {
	if repeat == 0 {
		return s.expand("body", template)
	}
	var out strings.Builder
	for n := range repeat {
		line, err := s.repeated("body", template, n)
		if err != nil {
			return "", err
		}
		if out.Len()+len(line) >= maxBody {
			return "", fmt.Errorf("body: %d lines take more than %d MiB; lower repeat", repeat, maxBody>>20)
		}
		out.WriteString(line)
		out.WriteByte('\n')
	}
	return out.String(), nil
}

// maxBody bounds a body's template, from a file or of many lines.
const maxBody = 16 << 20

// body returns a template, from its file if it has one.
func (b *runner) body(text, file string) (string, error) {
	if file == "" {
		return text, nil
	}
	content, err := readFile(b.Scenario, file, func(r io.Reader) ([]byte, error) {
		return io.ReadAll(io.LimitReader(r, maxBody+1))
	})
	if err == nil && len(content) > maxBody {
		err = fmt.Errorf("larger than %d MiB", maxBody>>20)
	}
	if err != nil {
		return "", fmt.Errorf("body_file %s: %w", file, err)
	}
	return string(content), nil
}

// followReceipts opens the sink's stream of receipts, if there is one.
func (b *runner) followReceipts(ctx context.Context, s *environment, run string, d *drive) error {
	address := b.Scenario.Load.Receipts
	if address == "" {
		return nil
	}
	address, err := s.expand("load.receipts", strings.ReplaceAll(address, "${run}", run))
	if err != nil {
		return err
	}
	stream, err := receipts.Dial(ctx, address, run)
	if err != nil {
		return err
	}
	d.receipts, d.close = []load.Receipts{stream.Follow}, stream.Close
	return nil
}
