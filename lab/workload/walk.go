package workload

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Walk returns a copy of the load in which f has replaced each template: URL, headers, paths,
// bodies and messages. f receives the text's name, for errors, and the names of the values that
// earlier steps save, which the texts of a step may contain.
func (l Load) Walk(f func(name, text string, saved []string) (string, error)) (Load, error) {
	w := walk{f: f}
	w.text("url", &l.URL)
	w.texts("header", &l.Headers)
	l.Requests = slices.Clone(l.Requests)
	for i := range l.Requests {
		w.request(&l.Requests[i])
	}
	if l.Sessions != nil {
		l.Sessions = w.session(*l.Sessions)
	}
	l.Steps = slices.Clone(l.Steps)
	for i := range l.Steps {
		s := &l.Steps[i]
		before := w.err
		w.request(&s.Request)
		w.text("url", &s.URL)
		if w.err != nil && before == nil {
			w.err = fmt.Errorf("step %s: %w", s.Name, w.err)
		}
		w.saved = slices.AppendSeq(w.saved, maps.Keys(s.Save))
	}
	return l, w.err
}

// walk goes through the texts of a load.
type walk struct {
	f     func(name, text string, saved []string) (string, error)
	saved []string
	err   error // the first
}

func (w *walk) text(name string, text *string) {
	if *text == "" || w.err != nil {
		return
	}
	*text, w.err = w.f(name, *text, w.saved)
}

func (w *walk) texts(name string, of *map[string]string) {
	*of = maps.Clone(*of)
	for _, key := range slices.Sorted(maps.Keys(*of)) {
		text := (*of)[key]
		w.text(name+" "+key, &text)
		(*of)[key] = text
	}
}

func (w *walk) request(r *Request) {
	w.text("body", &r.Body.Text)
	w.text("path", &r.Path)
	w.texts("header", &r.Headers)
}

func (w *walk) session(s Session) *Session {
	s.Open.Messages = slices.Clone(s.Open.Messages)
	for i := range s.Open.Messages {
		w.text("open.messages", &s.Open.Messages[i])
	}
	if s.Send != nil {
		send := *s.Send
		w.text("send.text", &send.Text)
		w.text("send.url", &send.URL)
		w.texts("send.headers", &send.Headers)
		s.Send = &send
	}
	return &s
}

// PathOf returns the path and query of a URL as a template: placeholders stay as they are, and the
// rest of the path is escaped.
func PathOf(u *url.URL) (string, error) {
	tokens, err := Tokens(cmp.Or(u.RawPath, u.EscapedPath(), "/")) // RawPath is as written, Path without escapes
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, t := range tokens {
		if t.Name != "" || t.Text == "$$" {
			out.WriteString(t.Text)
			continue
		}
		plain, err := url.PathUnescape(t.Text)
		if err != nil {
			return "", err
		}
		out.WriteString((&url.URL{Path: plain, RawPath: t.Text}).EscapedPath())
	}
	if u.ForceQuery || u.RawQuery != "" {
		out.WriteString("?" + u.RawQuery)
	}
	return out.String(), nil
}
