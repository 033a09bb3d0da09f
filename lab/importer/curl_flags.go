package importer

import (
	"errors"
	"strings"
)

// curlFlag is what an option of curl means to a load. One that is not in curlFlags has no meaning
// here: it is about output, time limits, retries or other protocols.
type curlFlag struct {
	read func(c *curlReader, value string) error // of an option with a value
	on   func(c *curlReader, on bool)            // of a switch
	why  string                                  // why it is left out
}

func dataFlag(separator string, binary bool) curlFlag {
	return curlFlag{read: func(c *curlReader, value string) error { return c.body(value, separator, binary) }}
}

// refusedFlag is an option with a value that is not read: without it the request would be another
// one, so it is left out.
func refusedFlag(why string) curlFlag {
	return curlFlag{read: func(c *curlReader, _ string) error { c.refuse = why; return nil }}
}

// printsFlag is an option with which curl sends nothing.
var printsFlag = curlFlag{on: func(c *curlReader, on bool) {
	if on {
		c.refuse = "curl prints a text, and sends nothing"
	}
}}

// anotherFlag is a switch to a kind of authentication other than Basic.
func anotherFlag(name string) curlFlag {
	return curlFlag{on: func(c *curlReader, on bool) {
		if c.auth = ""; on {
			c.auth = name
		}
	}}
}

const (
	noteDirect      = "requests go to the target directly"
	noteAddress     = "addresses are looked up as usual; write --target"
	noteCertificate = "certificates of clients are not sent"
	noteRedirects   = "redirects are not followed: the redirect is the answer"
	noteQUIC        = "HTTP/3 is not spoken"
)

var curlFlags = map[string]curlFlag{
	"url":            {read: (*curlReader).list},
	"url-query":      {read: (*curlReader).inQuery},
	"request":        {read: func(c *curlReader, v string) error { c.method = v; return nil }},
	"request-target": {read: func(c *curlReader, v string) error { c.target = v; return nil }},
	"proto-default":  {read: func(c *curlReader, v string) error { c.protocol = strings.ToLower(v); return nil }},
	"header":         {read: (*curlReader).field},
	"cookie":         {read: (*curlReader).cookie},
	"user":           {read: (*curlReader).userOf},
	"user-agent":     {read: func(c *curlReader, v string) error { c.set("User-Agent", v); return nil }},
	"referer":        {read: func(c *curlReader, v string) error { c.set("Referer", strings.TrimSuffix(v, ";auto")); return nil }},
	"oauth2-bearer":  {read: func(c *curlReader, v string) error { c.set("Authorization", "Bearer "+v); return nil }},
	"range":          {read: (*curlReader).rangeOf},
	"continue-at": {read: func(c *curlReader, v string) error {
		if v == "-" {
			return errors.New("only a file on disk says where it continues; write -r")
		}
		return c.rangeOf(v)
	}},

	"data":        dataFlag("&", false),
	"data-ascii":  dataFlag("&", false),
	"data-binary": dataFlag("&", true),
	"data-raw":    {read: func(c *curlReader, v string) error { c.post(v, "&"); return nil }},
	"data-urlencode": {read: func(c *curlReader, v string) error {
		v, err := c.encoded(v)
		c.post(v, "&")
		return err
	}},
	"json": {read: func(c *curlReader, v string) error { c.json = true; return c.body(v, "", true) }},

	"form":        refusedFlag("multipart forms (-F) are not read"),
	"form-string": refusedFlag("multipart forms (-F) are not read"),
	"upload-file": {read: func(c *curlReader, v string) error {
		if c.uploads = append(c.uploads, v); v == "-" || v == "." || strings.ContainsAny(v, "{[") {
			c.refuse = "uploads (-T) of stdin, or of a pattern of files, are not read"
		}
		return nil
	}},
	"config": refusedFlag("options in a file (-K) are not read; write them into the command"),
	"crlf": {on: func(c *curlReader, on bool) {
		if on {
			c.refuse = "line ends of uploads are not converted"
		}
	}},

	"get":        {on: func(c *curlReader, on bool) { c.get = on }},
	"head":       {on: func(c *curlReader, on bool) { c.head = on }},
	"insecure":   {on: func(c *curlReader, on bool) { c.load.Insecure = c.load.Insecure || on }},
	"http2":      {on: func(c *curlReader, _ bool) { c.load.HTTP2 = true }},
	"compressed": {on: func(c *curlReader, on bool) { c.compressed = on }},
	"globoff":    {on: func(c *curlReader, on bool) { c.noGlob = on }},
	"path-as-is": {on: func(c *curlReader, on bool) { c.asIs = on }},
	"basic":      {on: func(c *curlReader, on bool) { c.auth = "" }},
	"digest":     anotherFlag("--digest"), "ntlm": anotherFlag("--ntlm"), "negotiate": anotherFlag("--negotiate"), "anyauth": anotherFlag("--anyauth"),
	"help": {read: func(c *curlReader, _ string) error { printsFlag.on(c, true); return nil }}, "manual": printsFlag, "version": printsFlag, "dump-ca-embed": printsFlag,

	"location": {why: noteRedirects}, "location-trusted": {why: noteRedirects}, "follow": {why: noteRedirects},
	"http1.0":               {why: "HTTP/1.1 is spoken"},
	"http2-prior-knowledge": {why: "HTTP/2 without TLS is not spoken"},
	"http3":                 {why: noteQUIC}, "http3-only": {why: noteQUIC},
	"haproxy-protocol": {why: "no PROXY line is sent"}, "haproxy-clientip": {why: "no PROXY line is sent"},
	"netrc": {why: "its passwords are not read"}, "netrc-file": {why: "its passwords are not read"}, "netrc-optional": {why: "its passwords are not read"},
	"proxy": {why: noteDirect}, "proxy-user": {why: noteDirect}, "proxy1.0": {why: noteDirect}, "preproxy": {why: noteDirect}, "proxy-header": {why: noteDirect},
	"socks4": {why: noteDirect}, "socks4a": {why: noteDirect}, "socks5": {why: noteDirect}, "socks5-hostname": {why: noteDirect},
	"cert": {why: noteCertificate}, "key": {why: noteCertificate},
	"cacert":  {why: "write its path into the scenario, as load.tls.ca"},
	"resolve": {why: noteAddress}, "connect-to": {why: noteAddress},
	"unix-socket": {why: "load goes over TCP"}, "abstract-unix-socket": {why: "load goes over TCP"},
	"aws-sigv4": {why: "requests are not signed"}, "httpsig-key": {why: "requests are not signed"},
	"time-cond": {why: "it may have an answer without a body"}, "etag-compare": {why: "it may have an answer without a body"},
	"tr-encoding": {why: "no transfer coding is asked for"},
	"rate":        {why: "dyno finds the rate"},
}

// rangeOf reads the bytes to request: a number alone is that of the first byte.
func (c *curlReader) rangeOf(value string) error {
	if _, ok := globNumber(value); ok {
		value += "-"
	}
	c.span = value
	return nil
}
