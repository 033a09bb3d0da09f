package trust

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"dyno/services/ledger/xrpl"
)

// ValidatorList is a list of validators of which the user trusts most, but no single one.
type ValidatorList struct {
	Publisher  []byte    // master key of the list's publisher; nil: the user's own list
	Sequence   uint32    // sequence number of the list
	Effective  time.Time // start of its validity; zero: unlimited
	Expires    time.Time // end of its validity; zero: never
	Validators []Validator
}

// Validator is a validator in a list.
type Validator struct {
	Key      []byte // its master key, or its signing key if it has only one
	Manifest []byte // names its signing key; nil if the list has none
}

// ErrListExpired reports a list that its publisher no longer vouches for: a validator may have lost
// its key since. Old history needs today's list as well, because validators agree on the newest
// ledger, from which the rest is proved downwards.
var ErrListExpired = errors.New("the list of validators has expired")

// expired returns ErrListExpired if the list has expired at that time.
func (u *ValidatorList) expired(now time.Time) error {
	if u.Expires.IsZero() || now.Before(u.Expires) {
		return nil
	}
	return fmt.Errorf("%w: list %d of publisher %X was valid until %s; fetch the current one, as with curl -o FILE https://vl.ripple.com, or name a file with the keys of the validators that you trust, one (n...) a line, which does not expire",
		ErrListExpired, u.Sequence, u.Publisher, u.Expires.Format(time.RFC3339))
}

const (
	// Limits. Today's lists have about 30 KB and 35 validators.
	maxList       = 4 << 20 // bytes of a file
	maxValidators = 1000
)

// LoadValidators reads the trusted validators from a file: the JSON that a publisher serves (as
// https://vl.ripple.com), or a text with one public key (n...) a line, where # begins a comment. A
// published list must be signed by this publisher, given by its master key in hex; with "", the
// list's own publisher is accepted, so the file's author is trusted. It must be in force now
// (ErrListExpired); a text always is.
func LoadValidators(file, publisher string) (*ValidatorList, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("list of validators: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxList+1))
	if err != nil {
		return nil, fmt.Errorf("list of validators: %w", err)
	}
	u, err := ParseValidators(data, publisher)
	if err != nil {
		return nil, fmt.Errorf("list of validators %s: %w", file, err)
	}
	return u, nil
}

// ParseValidators is LoadValidators for the content of a file.
func ParseValidators(data []byte, publisher string) (*ValidatorList, error) {
	return parseValidators(data, publisher, time.Now())
}

func parseValidators(data []byte, publisher string, now time.Time) (u *ValidatorList, err error) {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) > maxList:
		return nil, fmt.Errorf("it is larger than %d MiB", maxList>>20)
	case len(data) > 0 && data[0] == '{':
		u, err = parsePublished(data, publisher, now)
	case publisher != "":
		return nil, errors.New("not a published list, so it has no publisher's signature: omit the publisher's key")
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

func parseKeys(data []byte) (*ValidatorList, error) {
	u := &ValidatorList{}
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
