package servers

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"dyno/parts/hostport"
)

func parseURL(text string, schemes ...string) (*url.URL, error) {
	var forms []string
	for _, scheme := range schemes {
		forms = append(forms, scheme+"://HOST:PORT")
	}
	u, err := url.Parse(text)
	bare := !strings.Contains(text, "://")
	if bare {
		u, err = url.Parse("//" + text)
	}
	switch {
	case err != nil: // err would show all of the URL
		return nil, fmt.Errorf("server URL: cannot be read; write it as %s", anyOf(forms))
	case u.Host == "" && bare: // empty, or a path
		return nil, fmt.Errorf("server URL names no host; write it as %s", anyOf(forms))
	case u.Host == "":
		return nil, fmt.Errorf("server URL %q names no host; write it as %s", u.Scheme+"://", anyOf(forms))
	case bare:
		name := strings.TrimPrefix(nameOf(u), "//")
		return nil, fmt.Errorf("%q has no scheme; write %s", name, anyOf([]string{schemes[0] + "://" + name, "ws://" + name}))
	case !slices.Contains(schemes, u.Scheme):
		return nil, fmt.Errorf("server URL %q: write it as %s", nameOf(u), anyOf(forms))
	}
	if err := hostport.CheckPort(u); err != nil {
		return nil, fmt.Errorf("server URL: %w", err)
	}
	return u, nil
}

// anyOf lists the choices, each once.
func anyOf(all []string) string {
	all = slices.Compact(all)
	last := len(all) - 1
	if last == 0 {
		return all[0]
	}
	return strings.Join(all[:last], ", ") + " or " + all[last]
}

// keyLength is the length from which on a path segment is taken for a key (some providers).
const keyLength = 16 // bytes

// nameOf is the part of a URL that may be shown.
func nameOf(u *url.URL) string {
	segments := strings.Split(u.EscapedPath(), "/")
	for i, s := range segments {
		if len(s) >= keyLength {
			segments[i] = masked
		}
	}
	shown := url.URL{Scheme: u.Scheme, Host: u.Host}
	return shown.String() + strings.Join(segments, "/")
}

const masked = "***"

// secretsOf are the texts that must not be shown: errors may repeat them.
func secretsOf(u *url.URL) []string {
	var secrets []string
	add := func(text string) {
		if text != "" {
			secrets = append(secrets, text)
		}
	}
	if u.User != nil {
		password, _ := u.User.Password()
		add(u.User.String())
		add(password)
		add(u.User.Username())
	}
	add(u.RawQuery)
	for _, values := range u.Query() {
		for _, v := range values {
			add(v)
		}
	}
	for s := range strings.SplitSeq(u.EscapedPath(), "/") {
		if len(s) < keyLength {
			continue
		}
		add(s)
		if plain, err := url.PathUnescape(s); err == nil {
			add(plain)
		}
	}
	add(u.Fragment)
	// The longest first: one may be a part of another.
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return secrets
}

// redact removes the URL from an error of net/http, and every secret from its text.
func (s *Server) redact(err error) error {
	var u *url.Error
	for errors.As(err, &u) {
		err = u.Err
	}
	text := err.Error()
	clean := text
	for _, secret := range s.secrets {
		clean = strings.ReplaceAll(clean, secret, masked)
	}
	if clean == text {
		return err
	}
	return errors.New(clean)
}
