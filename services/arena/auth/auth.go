// Package auth makes and checks the tokens with which players join: JSON Web Tokens, signed with
// HMAC-SHA-256 by a key in a file. A token says the player's name, and a token of the matchmaker
// also a room.
//
// It is not for accounts or passwords: the game's own service knows its users, and gives them
// tokens. It starts no goroutines; Keys.Watch runs in one of the server's.
package auth

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"dyno/parts/seconds"
)

// MaxName is the length of a name at most, in bytes of UTF-8.
const MaxName = 32

const keyBytes = 32

// Key signs tokens and checks them.
type Key []byte

// Claims are what a token says.
type Claims struct {
	Name string `json:"name"`
	Room string `json:"room,omitempty"` // of the matchmaker; "": any
	ID   string `json:"jti,omitempty"`  // of the matchmaker: a token that can be used once

	Exp seconds.Date `json:"exp"` // it is good until then
}

// Open reads the key in a file, which it makes, with a new key, if it is missing.
func Open(file string) (Key, error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case err == nil:
		key := New()
		_, err = fmt.Fprintln(f, hex.EncodeToString(key))
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("writing a new key: %w", err)
		}
		return key, nil
	case !errors.Is(err, fs.ErrExist):
		return nil, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parse(file, text)
}

// parse reads the text of a file.
func parse(file string, text []byte) (Key, error) {
	key, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(key) != keyBytes {
		return nil, fmt.Errorf("%s holds no key: want %d bytes in hexadecimal, as arenad makes them where there is no file", file, keyBytes)
	}
	return key, nil
}

// New makes a key.
func New() Key {
	key := make(Key, keyBytes)
	_, _ = rand.Read(key) // it never fails
	return key
}

// Issue makes a token.
func (k Key) Issue(c Claims) (string, error) {
	if err := CheckName(c.Name); err != nil {
		return "", err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: []byte(k)}, nil)
	if err != nil {
		return "", err
	}
	return jwt.Signed(signer).Claims(c).Serialize()
}

// Check returns what a token says that this key signed and that has not expired.
func (k Key) Check(token string, now time.Time) (Claims, error) {
	var c Claims
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.HS256})
	if err == nil {
		err = parsed.Claims([]byte(k), &c)
	}
	switch {
	case err != nil:
		return Claims{}, errors.New("the token is not one of this server's")
	case now.Unix() >= int64(c.Exp):
		return Claims{}, errors.New("the token has expired")
	}
	return c, CheckName(c.Name)
}

// CheckName returns an error for what cannot be a player's name.
func CheckName(name string) error {
	if len(name) > MaxName || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fmt.Errorf("a name has at most %d bytes of UTF-8 and no control characters", MaxName)
	}
	return nil
}
