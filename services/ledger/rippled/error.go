package rippled

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"dyno/parts/hostport"
)

// Code is the kind of an Error.
type Code uint8

const (
	// SlowDown: the client asked for more than the server allows it (slowDown, HTTP 503 "Server is
	// overloaded" or 429, WebSocket close 1008).
	SlowDown Code = iota + 1
	// Busy: the server is overloaded, whichever client asks (tooBusy, HTTP 5xx).
	Busy
	// NotFound: the server does not have the ledger (lgrNotFound).
	NotFound
	// NotSynced: the server has no network state (noNetwork, notSynced, noCurrent, notReady...).
	NotSynced
	// NotValidated: the ledger is not validated, or not closed.
	NotValidated
	// Cut: the answer ended early.
	Cut
	// Timeout: no whole answer came within Config.Timeout.
	Timeout
	// Gone: there is no connection, or it broke before an answer came.
	Gone
	// Malformed: the answer is not one of a rippled or Clio, or is larger than Config.MaxBody.
	Malformed
	// Empty: the answer reports success without a result.
	Empty
	// Refused: the server refuses for another reason (forbidden, unknownCmd, HTTP 4xx).
	Refused
)

var codeNames = [...]string{
	SlowDown: "slow down", Busy: "busy", NotFound: "not found", NotSynced: "not synced", NotValidated: "not validated",
	Cut: "cut", Timeout: "timeout", Gone: "gone", Malformed: "malformed", Empty: "empty", Refused: "refused",
}

func (c Code) String() string {
	if int(c) < len(codeNames) && codeNames[c] != "" {
		return codeNames[c]
	}
	return fmt.Sprintf("Code(%d)", uint8(c))
}

// Error is the reason why a request got no answer.
type Error struct {
	Code       Code
	Server     string        // Server.Name
	RetryAfter time.Duration // wait that the server asked for, or until the next dial; 0: none
	Err        error
}

func (e *Error) Error() string {
	if e.Server == "" {
		return fmt.Sprintf("%v: %v", e.Code, e.Err)
	}
	return fmt.Sprintf("%s: %v: %v", e.Server, e.Code, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// CodeOf is the Code of the *Error in err, 0 if there is none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

func errorf(c Code, format string, args ...any) *Error {
	return &Error{Code: c, Err: fmt.Errorf(format, args...)}
}

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
