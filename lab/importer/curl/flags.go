package curl

import (
	"errors"
	"strings"
)

// flag is what an option of curl means to a load. One that is not in flags has no meaning here: it
// is about output, time limits, retries or other protocols.
type flag struct {
	read func(c *reader, value string) error // of an option with a value
	on   func(c *reader, on bool)            // of a switch
	why  string                              // why it is left out
}

func data(separator string, binary bool) flag {
	return flag{read: func(c *reader, value string) error { return c.body(value, separator, binary) }}
}

// refused is an option with a value without which there is another request.
func refused(why string) flag {
	return flag{read: func(c *reader, _ string) error { c.refuse = why; return nil }}
}

// prints is an option with which curl sends nothing.
var prints = flag{on: func(c *reader, on bool) {
	if on {
		c.refuse = "curl prints a text, and sends nothing"
	}
}}

// another is a switch to another kind of authentication than Basic.
func another(name string) flag {
	return flag{on: func(c *reader, on bool) {
		if c.auth = ""; on {
			c.auth = name
		}
	}}
}

const (
	direct  = "requests go to the target directly"
	address = "addresses are looked up as usual; write --target"
	client  = "certificates of clients are not sent"
	follows = "redirects are not followed: the redirect is the answer"
	quic    = "HTTP/3 is not spoken"
)

var flags = map[string]flag{
	"url":            {read: (*reader).list},
	"url-query":      {read: (*reader).inQuery},
	"request":        {read: func(c *reader, v string) error { c.method = v; return nil }},
	"request-target": {read: func(c *reader, v string) error { c.target = v; return nil }},
	"proto-default":  {read: func(c *reader, v string) error { c.protocol = strings.ToLower(v); return nil }},
	"header":         {read: (*reader).field},
	"cookie":         {read: (*reader).cookie},
	"user":           {read: (*reader).userOf},
	"user-agent":     {read: func(c *reader, v string) error { c.set("User-Agent", v); return nil }},
	"referer":        {read: func(c *reader, v string) error { c.set("Referer", strings.TrimSuffix(v, ";auto")); return nil }},
	"oauth2-bearer":  {read: func(c *reader, v string) error { c.set("Authorization", "Bearer "+v); return nil }},
	"range":          {read: (*reader).rangeOf},
	"continue-at": {read: func(c *reader, v string) error {
		if v == "-" {
			return errors.New("only a file on disk says where it continues; write -r")
		}
		return c.rangeOf(v)
	}},

	"data":        data("&", false),
	"data-ascii":  data("&", false),
	"data-binary": data("&", true),
	"data-raw":    {read: func(c *reader, v string) error { c.post(v, "&"); return nil }},
	"data-urlencode": {read: func(c *reader, v string) error {
		v, err := c.encoded(v)
		c.post(v, "&")
		return err
	}},
	"json": {read: func(c *reader, v string) error { c.json = true; return c.body(v, "", true) }},

	"form":        refused("multipart forms (-F) are not read"),
	"form-string": refused("multipart forms (-F) are not read"),
	"upload-file": {read: func(c *reader, v string) error {
		if c.uploads = append(c.uploads, v); v == "-" || v == "." || strings.ContainsAny(v, "{[") {
			c.refuse = "uploads (-T) of stdin, or of a pattern of files, are not read"
		}
		return nil
	}},
	"config": refused("options in a file (-K) are not read; write them into the command"),
	"crlf": {on: func(c *reader, on bool) {
		if on {
			c.refuse = "line ends of uploads are not converted"
		}
	}},

	"get":        {on: func(c *reader, on bool) { c.get = on }},
	"head":       {on: func(c *reader, on bool) { c.head = on }},
	"insecure":   {on: func(c *reader, on bool) { c.load.Insecure = c.load.Insecure || on }},
	"http2":      {on: func(c *reader, _ bool) { c.load.HTTP2 = true }},
	"compressed": {on: func(c *reader, on bool) { c.compressed = on }},
	"globoff":    {on: func(c *reader, on bool) { c.noGlob = on }},
	"path-as-is": {on: func(c *reader, on bool) { c.asIs = on }},
	"basic":      {on: func(c *reader, on bool) { c.auth = "" }},
	"digest":     another("--digest"), "ntlm": another("--ntlm"), "negotiate": another("--negotiate"), "anyauth": another("--anyauth"),
	"help": {read: func(c *reader, _ string) error { prints.on(c, true); return nil }}, "manual": prints, "version": prints, "dump-ca-embed": prints,

	"location": {why: follows}, "location-trusted": {why: follows}, "follow": {why: follows},
	"http1.0":               {why: "HTTP/1.1 is spoken"},
	"http2-prior-knowledge": {why: "HTTP/2 without TLS is not spoken"},
	"http3":                 {why: quic}, "http3-only": {why: quic},
	"haproxy-protocol": {why: "no PROXY line is sent"}, "haproxy-clientip": {why: "no PROXY line is sent"},
	"netrc": {why: "its passwords are not read"}, "netrc-file": {why: "its passwords are not read"}, "netrc-optional": {why: "its passwords are not read"},
	"proxy": {why: direct}, "proxy-user": {why: direct}, "proxy1.0": {why: direct}, "preproxy": {why: direct}, "proxy-header": {why: direct},
	"socks4": {why: direct}, "socks4a": {why: direct}, "socks5": {why: direct}, "socks5-hostname": {why: direct},
	"cert": {why: client}, "key": {why: client},
	"cacert":  {why: "write its path into the scenario, as load.tls.ca"},
	"resolve": {why: address}, "connect-to": {why: address},
	"unix-socket": {why: "load goes over TCP"}, "abstract-unix-socket": {why: "load goes over TCP"},
	"aws-sigv4": {why: "requests are not signed"}, "httpsig-key": {why: "requests are not signed"},
	"time-cond": {why: "it may have an answer without a body"}, "etag-compare": {why: "it may have an answer without a body"},
	"tr-encoding": {why: "no transfer coding is asked for"},
	"rate":        {why: "dyno finds the rate"},
}

// rangeOf reads bytes to ask for: a number alone is the first.
func (c *reader) rangeOf(value string) error {
	if _, ok := number(value); ok {
		value += "-"
	}
	c.span = value
	return nil
}
