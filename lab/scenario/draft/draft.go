// Package draft writes scenario files that other commands make: it knows the form of the file,
// with its comments, and escapes texts that are no templates.
//
// It is not for deciding what a scenario says, nor for reading one. It starts no goroutines.
package draft

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// SchemaFile is the file that Modeline names, beside the scenario.
const SchemaFile = "dyno.schema.json"

// Modeline makes editors with the YAML language server complete and check a scenario.
const Modeline = "# yaml-language-server: $schema=" + SchemaFile

// Scenario is a scenario to write. Texts are templates; see Literal.
type Scenario struct {
	Modeline    bool     // begin with Modeline
	Comments    []string // above everything else, a line each
	Name        string
	Description string
	Target      Target
	URL         string // of the load
	Headers     []Header
	Feeder      string // file of rows; empty: none
	Corpus      string // file of bodies; empty: none
	Classes     []Class
	Steps       []Step // of a flow, instead of Classes
	Insecure    bool   // trust any certificate
	HTTP2       bool
	Exclusive   bool
	SLO         string
}

// Target is what is measured: a URL, or a program to start.
type Target struct {
	URL     string
	Build   string
	Command []string
	Args    []string
	Env     []Header
	Ready   string // URL that answers when the program is ready; without it and Port, it prints its ready line
	Port    *int   // it is ready when it listens at this port, or at any if 0
	Debug   string
	Comment string
}

// Header is a header field, or a variable of the environment.
type Header struct{ Name, Value string }

// Class is a kind of request.
type Class struct {
	Name    string
	Weight  float64 // 0: not written, which means 1
	Method  string
	Path    string // path and query
	Headers []Header
	Body    string
	Check   Check
	Comment string
}

// Literal escapes a text that is no template.
func Literal(s string) string {
	if strings.Contains(s, "${") || strings.Contains(s, "$$") {
		return strings.ReplaceAll(s, "$", "$$")
	}
	return s
}

// YAML returns the scenario's file.
func (s *Scenario) YAML() ([]byte, error) {
	var root mapping
	root.add("name", s.Name, "")
	root.add("description", s.Description, "")
	root.add("mode", "capacity", "find the highest rate that meets the slo; dyno run and dyno capacity both take this file")
	root.child("target", s.Target.mapping(), s.Target.Comment)
	root.child("load", s.load(), "")
	root.add("slo", s.SLO, "edit this: a load that misses it does not count as carried")
	if s.Exclusive {
		root.add("exclusive", true, "")
	}

	var out bytes.Buffer
	if s.Modeline {
		out.WriteString(Modeline + "\n")
	}
	for _, line := range s.Comments {
		out.WriteString(strings.TrimRight("# "+oneLine(line), " ") + "\n")
	}
	if out.Len() > 0 {
		out.WriteString("\n")
	}
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(root.node()); err != nil {
		return nil, fmt.Errorf("writing a scenario: %w", err)
	}
	return out.Bytes(), enc.Close()
}

func (t *Target) mapping() mapping {
	var m mapping
	m.add("url", t.URL, "")
	m.add("build", t.Build, "")
	m.list("command", t.Command)
	m.list("args", t.Args)
	m.child("env", headers(t.Env), "")
	var ready mapping
	if t.Port != nil {
		ready.add("port", *t.Port, "")
	}
	ready.add("url", t.Ready, "")
	m.child("ready", ready, "")
	m.add("debug", t.Debug, "")
	return m
}

func (s *Scenario) load() mapping {
	var m mapping
	single := len(s.Classes) == 1
	url := s.URL
	if single {
		url = strings.TrimSuffix(url, "/") + s.Classes[0].Path
	}
	if len(s.Steps) > 0 {
		m.add("kind", "flows", "")
	}
	m.add("url", url, "")
	common := s.Headers
	if single {
		c := s.Classes[0]
		m.add("method", c.Method, c.Comment)
		common = append(common[:len(common):len(common)], c.Headers...)
	}
	m.child("headers", headers(common), "")
	if single {
		m.add("body", s.Classes[0].Body, "")
		m.child("check", s.Classes[0].Check.mapping(), "")
	}
	m.add("corpus", s.Corpus, "")
	if s.Feeder != "" {
		var feeder mapping
		feeder.add("file", s.Feeder, "")
		m.child("feeder", feeder, "")
	}
	switch {
	case len(s.Steps) > 0:
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range s.Steps {
			list.Content = append(list.Content, s.Steps[i].mapping().node())
		}
		m.put("steps", list, "")
	case !single:
		m.children("classes", s.Classes)
	}
	if s.Insecure || s.HTTP2 {
		var tls mapping
		if s.Insecure {
			tls.add("insecure", true, "")
		}
		if s.HTTP2 {
			tls.add("http2", true, "")
		}
		m.child("tls", tls, "")
	}
	return m
}

func (c *Class) mapping() (m mapping) {
	m.add("name", c.Name, "")
	if c.Weight != 0 {
		m.add("weight", c.Weight, "")
	}
	m.add("method", c.Method, "")
	m.add("path", c.Path, "")
	m.child("headers", headers(c.Headers), "")
	m.add("body", c.Body, "")
	m.child("check", c.Check.mapping(), "")
	return m
}

func headers(list []Header) (m mapping) {
	for _, h := range list {
		m.always(h.Name, h.Value)
	}
	return m
}
