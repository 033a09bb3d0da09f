package hostport

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// Normal returns the address of an HTTP receiver in the form of RFC 3986, so that what a client
// sends to it is a valid request line and Host: the scheme and the host in small letters, a host of
// other letters by its ASCII name (RFC 5891), other characters percent-encoded. An address that
// programs read differently, or that is not sent as it was meant, is an error with the reason.
func Normal(text string) (string, error) {
	switch control := strings.IndexFunc(text, unicode.IsControl); {
	case text == "":
		return "", errors.New("it is empty")
	case !utf8.ValidString(text):
		return "", errors.New("it is not UTF-8")
	case control >= 0:
		return "", fmt.Errorf("it has a control character, %q, after %d bytes", text[control:control+1], control)
	case strings.TrimSpace(text) != text:
		return "", errors.New("it begins or ends with a space")
	case strings.Contains(text, `\`):
		return "", errors.New(`it has a backslash, which some programs take for a slash; write / or %5C`)
	case strings.Contains(text, "#"):
		return "", errors.New("it has a fragment, which is not sent; leave out what begins with #, or write %23")
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if scheme = strings.ToLower(scheme); !ok || scheme != "http" && scheme != "https" {
		return "", errors.New("it does not begin with http:// or https://")
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	authority, err := normalAuthority(rest[:end])
	if err != nil {
		return "", err
	}
	target, err := normalTarget(rest[end:])
	if err != nil {
		return "", err
	}
	whole := scheme + "://" + authority + target
	if _, err := url.Parse(whole); err != nil {
		return "", err
	}
	return whole, nil
}

// unescaped are the characters of a path and a query that are not percent-encoded (RFC 3986, 3.3
// and 3.4), besides letters and digits.
const unescaped = "-._~!$&'()*+,;=:@/?"

// normalTarget percent-encodes what may not stand in a path and a query. Escapes stay as they are.
func normalTarget(text string) (string, error) {
	var out strings.Builder
	for i := range len(text) {
		switch b := text[i]; {
		case b == '%':
			if len(text) < i+3 || !hex(text[i+1]) || !hex(text[i+2]) {
				return "", fmt.Errorf("it has a %% without two hexadecimal digits, in %.20q; write %%25 for the character itself", text[i:])
			}
			out.WriteByte(b)
		case letter(b) || digit(b) || strings.IndexByte(unescaped, b) >= 0:
			out.WriteByte(b)
		default:
			fmt.Fprintf(&out, "%%%02X", b)
		}
	}
	return out.String(), nil
}

// normalAuthority reads a host and a port, if there is one.
func normalAuthority(text string) (string, error) {
	if strings.Contains(text, "@") {
		return "", errors.New("it has a user or password; receivers check the signature of what they get")
	}
	host, port, ok := text, "", false
	if end := strings.LastIndexByte(text, ']'); strings.HasPrefix(text, "[") && end > 0 {
		host = text[:end+1]
		if port, ok = strings.CutPrefix(text[end+1:], ":"); !ok && end+1 < len(text) {
			return "", fmt.Errorf("%.40q is no host and port", text)
		}
	} else {
		host, port, _ = strings.Cut(text, ":")
	}
	switch {
	case host == "":
		return "", errors.New("it names no host")
	case strings.Trim(port, "0123456789") != "":
		return "", fmt.Errorf("%.20q is no port; an IPv6 address stands in brackets", port)
	}
	host, err := normalHost(host)
	if err != nil || port == "" {
		return host, err
	}
	if port = strings.TrimLeft(port, "0"); port == "" {
		port = "0"
	}
	return host + ":" + port, checkPort(port)
}

// normalHost reads a name or an address.
func normalHost(text string) (string, error) {
	if inside, ok := strings.CutPrefix(text, "["); ok {
		inside = strings.TrimSuffix(inside, "]")
		ip, err := netip.ParseAddr(inside)
		switch {
		case strings.Contains(inside, "%"):
			return "", fmt.Errorf("the address %.60s has a zone, which means something on one machine only", inside)
		case err != nil || !ip.Is6():
			return "", fmt.Errorf("%.60q is no IPv6 address", inside)
		}
		return "[" + ip.String() + "]", nil
	}
	name, err := url.PathUnescape(text)
	if err != nil || !utf8.ValidString(name) {
		return "", fmt.Errorf("the host %.60q has a %% that is no escape", text)
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) {
		if name, err = idna.Lookup.ToASCII(name); err != nil {
			return "", fmt.Errorf("the host %.60q has no name in ASCII: %w", text, err)
		}
	}
	name = strings.ToLower(name)
	const longest, longestLabel = 253, 63 // bytes (RFC 1035, 2.3.4)
	if len(name) > longest {
		return "", fmt.Errorf("the host has %d bytes; names have at most %d", len(name), longest)
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		if label == "" || len(label) > longestLabel {
			return "", fmt.Errorf("the host %.60q has an empty part, or one of more than %d bytes", name, longestLabel)
		}
		for i := range len(label) { // an underscore is in names of containers
			if b := label[i]; !letter(b) && !digit(b) && b != '-' && b != '_' {
				return "", fmt.Errorf("the host %.60q has %q, which no name of a host has", name, b)
			}
		}
	}
	if _, err := netip.ParseAddr(name); err != nil && endsInNumber(name) {
		return "", fmt.Errorf("the host %.60q ends as an IPv4 address and is none; write four decimal numbers of at most 255, as in 192.0.2.1", name)
	}
	return name, nil
}

// endsInNumber reports whether the last label of a name is a number. No name of DNS is so (RFC
// 3696, 2); some programs read 127.1, 0177.0.0.1 and 0x7f000001 as addresses (WHATWG URL, 3.5).
func endsInNumber(name string) bool {
	name = strings.TrimSuffix(name, ".")
	last := name[strings.LastIndexByte(name, '.')+1:]
	if hexadecimal, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hexadecimal, "0123456789abcdef") == ""
	}
	return strings.Trim(last, "0123456789") == ""
}

func letter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

func digit(b byte) bool { return b >= '0' && b <= '9' }

func hex(b byte) bool { return digit(b) || b|0x20 >= 'a' && b|0x20 <= 'f' }
