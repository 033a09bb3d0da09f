package trust

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"dyno/parts/xrpl"
)

// UNL is a list of validators that are trusted together: not one by one, but so that most of them do not collude.
type UNL struct {
	Publisher  []byte    // master key of who published the list; nil where it is the user's own
	Sequence   uint32    // of the list
	Effective  time.Time // from when on it holds; zero: it always has
	Expires    time.Time // from when on it does not hold any more; zero: never
	Validators []Validator
}

// Validator is a validator as a list names it.
type Validator struct {
	Key      []byte // its master key, or the one that it signs with where it has but one
	Manifest []byte // which names the key that it signs with; nil where the list has none
}

// ErrExpired is for a list whose publisher does not stand by it any more: a validator may have lost its key since. Old
// history needs the list of today as well, since what validators agree on is the newest ledger, from which the rest
// is proved downwards.
var ErrExpired = errors.New("the list of validators has expired")

// expired is ErrExpired when the list is at that time.
func (u *UNL) expired(now time.Time) error {
	if u.Expires.IsZero() || now.Before(u.Expires) {
		return nil
	}
	return fmt.Errorf("%w: list %d of publisher %X was good until %s; fetch the present one, as with curl -o FILE https://vl.ripple.com, or name a file with the keys of the validators that you trust, one (n...) a line, which does not expire",
		ErrExpired, u.Sequence, u.Publisher, u.Expires.Format(time.RFC3339))
}

const (
	maxUNL        = 4 << 20 // bytes of a file. The lists of today have some 30 KB
	maxValidators = 1000    // the lists of today have 35
)

// LoadUNL reads the validators that are trusted from a file: the JSON that a publisher has on the web (as
// https://vl.ripple.com), or a text with one public key (n...) a line, where # begins a comment. A published list has
// to be signed, and by this publisher: its master key in hex, or "" for whomever the list itself names, so that whoever
// wrote the file is believed. It has to be in force now (ErrExpired); a text always is.
func LoadUNL(file, publisher string) (*UNL, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("list of validators: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxUNL+1))
	if err != nil {
		return nil, fmt.Errorf("list of validators: %w", err)
	}
	u, err := ParseUNL(data, publisher)
	if err != nil {
		return nil, fmt.Errorf("list of validators %s: %w", file, err)
	}
	return u, nil
}

// ParseUNL is LoadUNL of what is in the file.
func ParseUNL(data []byte, publisher string) (*UNL, error) {
	return parseUNL(data, publisher, time.Now())
}

func parseUNL(data []byte, publisher string, now time.Time) (u *UNL, err error) {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) > maxUNL:
		return nil, fmt.Errorf("it is larger than %d MiB", maxUNL>>20)
	case len(data) > 0 && data[0] == '{':
		u, err = parsePublished(data, publisher, now)
	case publisher != "":
		return nil, errors.New("it is no published list, so it has no publisher's signature: leave the publisher's key away")
	default:
		u, err = parseKeys(data)
	}
	if err != nil {
		return nil, err
	}
	if n := len(u.Validators); n == 0 || n > maxValidators {
		return nil, fmt.Errorf("it has %d validators, not 1 to %d", n, maxValidators)
	}
	seen := map[string]bool{}
	for _, v := range u.Validators {
		if seen[string(v.Key)] {
			return nil, fmt.Errorf("validator %s is in it twice", xrpl.FormatNodeKey(v.Key))
		}
		seen[string(v.Key)] = true
	}
	return u, nil
}

func parseKeys(data []byte) (*UNL, error) {
	u := &UNL{}
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		key, err := xrpl.ParseNodeKey(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		u.Validators = append(u.Validators, Validator{Key: key})
	}
	return u, nil
}
