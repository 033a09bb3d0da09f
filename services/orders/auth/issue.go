package auth

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"dyno/parts/keyfile"
	"dyno/parts/refusal"
	"dyno/services/orders/order"
)

// KeysFile is the name of the JWKS in a data folder.
const KeysFile = "jwks.json"

// Claims are what a token says. What is empty is left out.
type Claims struct {
	Account   string // sub
	Audience  string
	Issuer    string
	IssuedAt  time.Time
	NotBefore time.Time
	Expiry    time.Time // needed
}

// Create makes a JWKS with one new HS256 key that the owner alone may read (0600), and the folders
// above it, unless the file exists. Of two that create the same file, one does and both succeed.
func Create(file string) error {
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	secret := make([]byte, minSecret)
	rand.Read(secret)
	id := "key-" + strings.ToLower(rand.Text()[:8])
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: secret, KeyID: id, Algorithm: string(jose.HS256), Use: "sig"}}}
	text, err := json.MarshalIndent(set, "", "  ")
	if err != nil {
		return fmt.Errorf("writing a key: %w", err)
	}
	folder := filepath.Dir(file)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("making the folder of the keys: %w", err)
	}
	return createWith(file, append(text, '\n'))
}

// createWith makes a file that has its whole text from the first moment on, unless there is one.
func createWith(file string, text []byte) error {
	draft, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*") // 0600
	if err != nil {
		return fmt.Errorf("making the file of keys: %w", err)
	}
	defer os.Remove(draft.Name())
	_, err = draft.Write(text)
	if err == nil {
		err = draft.Sync()
	}
	if closed := draft.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Link(draft.Name(), file) // fails where there is one, as a rename does not
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("making the file of keys: %w", err)
	}
	return nil
}

// Issue makes a token with a key of a file, as OpenIssuer takes it.
func Issue(file, kid string, claims Claims) (string, error) {
	i, err := OpenIssuer(file, kid)
	if err != nil {
		return "", err
	}
	return i.Issue(claims)
}

// Issuer signs tokens with one key.
type Issuer struct{ signer jose.Signer }

// OpenIssuer takes a key of a file: that with this kid, or, for "", the first that can sign.
func OpenIssuer(file, kid string) (*Issuer, error) {
	text, _, err := keyfile.Read(file, maxFile)
	if err != nil {
		return nil, unread(err)
	}
	ring, err := parseKeys(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(ring.keys) == 0 {
		return nil, fmt.Errorf("%s: %w", file, ring.unusable())
	}
	key, err := ring.signing(kid)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	signer, err := jose.NewSigner(
		jose.SigningKey{Algorithm: key.algorithm, Key: key.private},
		new(jose.SignerOptions).WithType("JWT").WithHeader("kid", key.id))
	if err != nil {
		return nil, fmt.Errorf("%s: key%s cannot sign: %w", file, named(key.id), err)
	}
	return &Issuer{signer}, nil
}

// signing finds the key.
func (k *keyring) signing(id string) (key, error) {
	var known []string
	for _, key := range k.keys {
		if key.private != nil {
			known = append(known, key.id)
		}
		if (id == "" || id == key.id) && key.private != nil {
			return key, nil
		}
	}
	switch _, ok := k.byID[id]; {
	case ok:
		return key{}, fmt.Errorf("the key with kid %q is a public one; tokens are made with the private one", id)
	case len(known) == 0:
		return key{}, errors.New("no key here can sign: they are public ones")
	default:
		return key{}, refusal.Unknown("kid", id, known...)
	}
}

// Issue makes a token.
func (i *Issuer) Issue(c Claims) (string, error) {
	if !order.ValidAccount(c.Account) {
		return "", fmt.Errorf("%q is not an account: one has %s", c.Account, order.AccountRule)
	}
	if c.Expiry.IsZero() {
		return "", errors.New("a token needs a time when it expires")
	}
	claims := jwt.Claims{
		Subject: c.Account, Issuer: c.Issuer,
		IssuedAt: jwt.NewNumericDate(c.IssuedAt), NotBefore: jwt.NewNumericDate(c.NotBefore), Expiry: jwt.NewNumericDate(c.Expiry),
	}
	if c.Audience != "" {
		claims.Audience = jwt.Audience{c.Audience}
	}
	token, err := jwt.Signed(i.signer).Claims(claims).Serialize()
	if err != nil {
		return "", fmt.Errorf("signing: %w", err)
	}
	return token, nil
}
