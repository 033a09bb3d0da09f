package importer

import (
	"encoding/base64"
	"net/url"
	"path"
	"slices"
	"strings"

	"dyno/lab/workload"
)

// own are the header fields that a load generator writes itself.
var own = []string{"connection", "content-length", "expect", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}

// browsers are the header fields that only browsers need, or that make a server answer without a
// body.
var browsers = []string{"dnt", "if-modified-since", "if-none-match", "priority", "upgrade-insecure-requests"}

// header returns a request's header fields as templates, each name once.
func (c *conversion) header(fields []Field, host string) (out []Field) {
	for _, f := range fields {
		name := strings.ToLower(f.Name)
		switch {
		case slices.Contains(own, name), name == "host" && strings.EqualFold(f.Value, host):
			if name == "connection" && strings.EqualFold(f.Value, "close") || name == "transfer-encoding" || name == "expect" {
				c.note("the field %s: %.40s was dropped: the load generator writes its own", f.Name, f.Value)
			}
			continue
		case slices.Contains(browsers, name), strings.HasPrefix(name, "sec-"):
			if !slices.Contains(c.odd, name) {
				c.odd = append(c.odd, name)
			}
			continue
		}
		value := workload.Literal(f.Value)
		switch {
		case name == "idempotency-key":
			value = "${random:32}" // the same key again would repeat an answer
			c.note("Idempotency-Key is random in each request")
		case secret(f):
			if value = c.vault.put(f.Name, f.Value); value == "" {
				continue
			}
		}
		if i := slices.IndexFunc(out, func(h Field) bool { return strings.EqualFold(h.Name, f.Name) }); i >= 0 {
			separator := ", "
			if name == "cookie" {
				separator = "; "
			}
			out[i].Value += separator + value
			continue
		}
		out = append(out, Field{Name: f.Name, Value: value})
	}
	return out
}

func basic(u *url.Userinfo) string {
	password, _ := u.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password))
}

// files are the extensions of the files of a page.
var files = []string{".avif", ".css", ".gif", ".ico", ".jpeg", ".jpg", ".js", ".map", ".mjs", ".mp4", ".otf", ".png", ".svg", ".ttf", ".wasm", ".webm", ".webp", ".woff", ".woff2"}

// isStatic reports whether a request is for a file of a page.
func isStatic(r Request) bool {
	u, err := url.Parse(r.URL)
	return r.Static || err == nil && slices.Contains(files, strings.ToLower(path.Ext(u.Path)))
}

// names lists the names of header fields and saved values. Each stands after the one that precedes
// it in the first item that has it.
func names(items []item) (out []string) {
	for _, i := range items {
		after := 0
		add := func(name string) {
			at := slices.Index(out, name)
			if at < 0 {
				at = after
				out = slices.Insert(out, at, name)
			}
			after = at + 1
		}
		for _, h := range i.header {
			add(h.Name)
		}
		for _, s := range i.flow.Save {
			add(s.Name)
		}
	}
	return out
}

// texts returns header fields by name; nil: there are none.
func texts(fields []Field) map[string]string {
	var out map[string]string
	for _, f := range fields {
		if out == nil {
			out = map[string]string{}
		}
		out[f.Name] = f.Value
	}
	return out
}

// common removes the header fields that all items share from the items, and returns these fields.
func common(items []item) (shared []Field) {
	if len(items) < 2 {
		return nil
	}
	for _, h := range items[0].header {
		if !slices.ContainsFunc(items, func(i item) bool { return !slices.Contains(i.header, h) }) {
			shared = append(shared, h)
		}
	}
	for i := range items {
		items[i].header = slices.DeleteFunc(slices.Clone(items[i].header), func(h Field) bool { return slices.Contains(shared, h) })
	}
	return shared
}
