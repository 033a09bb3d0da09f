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

// Code is what kind of e there is with a server.
type Code uint8

const (
	// SlowDown: the client asked for more than the server allows it (slowDown, HTTP 503 "Server is overloaded" or
	// 429, WebSocket close 1008).
	SlowDown Code = iota + 1
	// Busy: the server has too much to do, whoever asks (tooBusy, HTTP 5xx).
	Busy
	// NotFound: the server does not have the ledger (lgrNotFound).
	NotFound
	// NotSynced: the server does not know the network's state (noNetwork, notSynced, noCurrent, notReady...).
	NotSynced
	// NotValidated: the ledger is not validated, or not closed.
	NotValidated
	// Cut: the answer ended in the middle.
	Cut
	// Timeout: no whole answer came within Config.Timeout.
	Timeout
	// Gone: there is no connection, or it broke before an answer came.
	Gone
	// Malformed: the answer is not what a server of this kind answers, or is larger than Config.MaxBody.
	Malformed
	// Empty: success is said, and nothing is answered.
	Empty
	// Refused: the server refuses for another reason (forbidden, unknownCmd, HTTP 4xx).
	Refused
)

var kinds = [...]string{
	SlowDown: "slow down", Busy: "busy", NotFound: "not found", NotSynced: "not synced", NotValidated: "not validated",
	Cut: "cut", Timeout: "timeout", Gone: "gone", Malformed: "malformed", Empty: "empty", Refused: "refused",
}

func (k Code) String() string {
	if int(k) < len(kinds) && kinds[k] != "" {
		return kinds[k]
	}
	return fmt.Sprintf("Code(%d)", uint8(k))
}

// Trouble is a request that did not get its answer.
type Error struct {
	Code       Code
	Server     string        // its Name
	RetryAfter time.Duration // what the server asked for, or the next dial; 0: nothing said
	Err        error
}

func (t *Error) Error() string {
	if t.Server == "" {
		return fmt.Sprintf("%v: %v", t.Code, t.Err)
	}
	return fmt.Sprintf("%s: %v: %v", t.Server, t.Code, t.Err)
}

func (t *Error) Unwrap() error { return t.Err }

// CodeOf is the kind of the e in an error, 0 where there is none.
func CodeOf(err error) Code {
	var t *Error
	if errors.As(err, &t) {
		return t.Code
	}
	return 0
}

func errorf(k Code, format string, args ...any) *Error {
	return &Error{Code: k, Err: fmt.Errorf(format, args...)}
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
	case err != nil: // which would show the whole of it
		return nil, fmt.Errorf("server URL: cannot be read; write it as %s", anyOf(forms))
	case u.Host == "" && bare: // nothing, or a path
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

// anyOf lists what there is to choose from, each once.
func anyOf(all []string) string {
	all = slices.Compact(all)
	last := len(all) - 1
	if last == 0 {
		return all[0]
	}
	return strings.Join(all[:last], ", ") + " or " + all[last]
}

// keyLength is from which length on a segment of a path is taken for a key, as some providers have them.
const keyLength = 16 // bytes

// nameOf is what may be shown of a URL.
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

// masked stands for what is secret.
const masked = "***"

// secretsOf are the texts that must not be shown: in an error, they may come back from the transport or the server.
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

// redact takes the URL out of an error of net/http, and every secret out of its text.
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
