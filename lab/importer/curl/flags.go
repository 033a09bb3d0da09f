package curl

import (
	"errors"

	"dyno/lab/importer/foreign"
)

// flag is what a flag of curl means to a load. The zero flag has no value and no meaning here.
type flag struct {
	read  func(c *reader, value string) error // of a flag with a value
	on    func(c *reader)                     // of a flag without
	takes bool                                // it has a value that has no meaning here
	why   string                              // why it is left out; empty: that needs no mention
}

// field returns a flag whose value is that of a header field.
func field(name, before string) flag {
	return flag{read: func(c *reader, value string) error {
		f := foreign.Field{Name: name, Value: before + value}
		if !f.Valid() {
			return errors.New("it is no header field's value")
		}
		c.r.Header = append(c.r.Header, f)
		return nil
	}}
}

func data(binary bool) flag {
	return flag{read: func(c *reader, value string) error { return c.body(value, binary) }}
}

var (
	multipart = flag{read: func(c *reader, value string) error {
		c.refuse = "multipart forms (-F) are not read"
		return nil
	}}
	upload = flag{read: func(c *reader, value string) error {
		c.refuse = "uploads of a file (-T) are not read"
		return nil
	}}
	ignored = flag{takes: true} // about output, time limits and retries: a scenario has its own
)

var aliases = map[string]string{
	"-X": "--request", "-H": "--header", "-d": "--data", "--data-ascii": "--data", "-F": "--form", "-b": "--cookie", "-u": "--user",
	"-k": "--insecure", "-G": "--get", "-I": "--head", "-A": "--user-agent", "-e": "--referer", "-T": "--upload-file", "-L": "--location",
	"-x": "--proxy", "-E": "--cert", "-r": "--range", "-o": "--output", "-m": "--max-time", "-w": "--write-out", "-c": "--cookie-jar",
	"-D": "--dump-header", "-y": "--speed-time", "-Y": "--speed-limit", "-C": "--continue-at", "-K": "--config", "-U": "--proxy-user",
	"-s": "--silent", "-S": "--show-error", "-v": "--verbose", "-i": "--include", "-f": "--fail", "-N": "--no-buffer", "-O": "--remote-name",
	"-g": "--globoff", "-J": "--remote-header-name", "-#": "--progress-bar", "-n": "--netrc", "-q": "--disable", "-R": "--remote-time",
	"-0": "--http1.0", "-1": "--tlsv1", "-4": "--ipv4", "-6": "--ipv6",
}

var flags = map[string]flag{
	"--url":     {read: func(c *reader, v string) error { c.urls = append(c.urls, v); return nil }},
	"--request": {read: func(c *reader, v string) error { c.method = v; return nil }},
	"--header":  {read: (*reader).header},
	"--cookie":  {read: (*reader).cookie},
	"--user":    {read: (*reader).user},

	"--data":           data(false),
	"--data-binary":    data(true),
	"--data-raw":       {read: func(c *reader, v string) error { c.data = append(c.data, v); return nil }},
	"--data-urlencode": {read: (*reader).encoded},
	"--json":           {read: func(c *reader, v string) error { c.json = true; return c.body(v, true) }},
	"--form":           multipart,
	"--form-string":    multipart,
	"--upload-file":    upload,

	"--user-agent":    field("User-Agent", ""),
	"--referer":       field("Referer", ""),
	"--oauth2-bearer": field("Authorization", "Bearer "),
	"--range":         field("Range", "bytes="),

	"--get":        {on: func(c *reader) { c.get = true }},
	"--head":       {on: func(c *reader) { c.head = true }},
	"--insecure":   {on: func(c *reader) { c.load.Insecure = true }},
	"--http2":      {on: func(c *reader) { c.load.HTTP2 = true }},
	"--compressed": {on: func(c *reader) { c.r.Default("Accept-Encoding", "gzip, deflate") }},
	"--location":   {why: "redirects are not followed: the redirect is the answer"},

	"--http2-prior-knowledge": {why: "HTTP/2 without TLS is not spoken"},
	"--http3":                 {why: "HTTP/3 is not spoken"},
	"--digest":                {why: "only Basic and Bearer are sent"},
	"--netrc":                 {why: "its passwords are not read"},
	"--config":                {takes: true, why: "its file is not read"},
	"--proxy":                 {takes: true, why: "requests go to the target directly"},
	"--proxy-user":            {takes: true, why: "requests go to the target directly"},
	"--cert":                  {takes: true, why: "certificates of clients are not sent"},
	"--key":                   {takes: true, why: "certificates of clients are not sent"},
	"--cacert":                {takes: true, why: "write its path into the scenario, as load.tls.ca"},
	"--resolve":               {takes: true, why: "addresses are looked up as usual; write --target"},
	"--connect-to":            {takes: true, why: "addresses are looked up as usual; write --target"},
	"--unix-socket":           {takes: true, why: "load goes over TCP"},
	"--aws-sigv4":             {takes: true, why: "requests are not signed"},

	"--output": ignored, "--max-time": ignored, "--connect-timeout": ignored, "--write-out": ignored, "--cookie-jar": ignored,
	"--dump-header": ignored, "--retry": ignored, "--retry-delay": ignored, "--retry-max-time": ignored, "--max-redirs": ignored,
	"--speed-time": ignored, "--speed-limit": ignored, "--continue-at": ignored, "--limit-rate": ignored, "--keepalive-time": ignored,
	"--ciphers": ignored, "--interface": ignored, "--trace": ignored, "--trace-ascii": ignored, "--stderr": ignored, "--proto": ignored,
	"--output-dir": ignored, "--rate": ignored, "--dns-servers": ignored, "--noproxy": ignored, "--max-filesize": ignored,

	"--silent": {}, "--show-error": {}, "--verbose": {}, "--include": {}, "--fail": {}, "--no-buffer": {}, "--remote-name": {},
	"--globoff": {}, "--remote-header-name": {}, "--progress-bar": {}, "--disable": {}, "--remote-time": {}, "--http1.0": {},
	"--http1.1": {}, "--tlsv1": {}, "--tlsv1.2": {}, "--tlsv1.3": {}, "--ipv4": {}, "--ipv6": {}, "--no-progress-meter": {},
	"--fail-with-body": {}, "--no-keepalive": {}, "--tcp-nodelay": {}, "--path-as-is": {}, "--ssl-reqd": {}, "--retry-all-errors": {},
	"--basic": {}, "--no-alpn": {}, "--location-trusted": {},
}

// lookup returns what a flag means, by either of its names.
func lookup(name string) (f flag, known bool) {
	if long, ok := aliases[name]; ok {
		name = long
	}
	f, known = flags[name]
	return f, known
}
