package peers

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"time"
)

// ID is the public key of a node, by Ed25519. The key is in a file, and by TLS 1.3 each end of a
// connection proves that its ID is its own. The certificates are made for the connection and signed
// by the key: no authority is asked, only the key counts.
type ID [ed25519.PublicKeySize]byte

// String gives an ID as ParseID reads it: 64 hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText gives an ID in JSON.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// ParseID reads an ID.
func ParseID(text string) (id ID, err error) {
	if len(text) != 2*len(id) {
		return id, fmt.Errorf("a node's id has %d hexadecimal digits, and %.80q has %d characters: write the id that the node's key has", 2*len(id), text, len(text))
	}
	if _, err := hex.Decode(id[:], []byte(text)); err != nil {
		return ID{}, fmt.Errorf("a node's id has hexadecimal digits only, and %q has others: write the id that the node's key has", text)
	}
	return id, nil
}

// Key is a node's key. It shows only its ID when it is printed.
type Key struct{ private ed25519.PrivateKey }

// NewKey makes a key.
func NewKey() Key {
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		panic(err) // the system's random numbers do not fail
	}
	return Key{private}
}

// ID is the public half.
func (k Key) ID() ID { return ID(k.private.Public().(ed25519.PublicKey)) }

// String keeps the private half out of logs.
func (k Key) String() string { return k.ID().String() }

// GoString keeps the private half out of logs.
func (k Key) GoString() string { return k.String() }

const pemType = "PRIVATE KEY" // PKCS #8, as openssl genpkey -algorithm ed25519 writes it

// Write writes the key to a new file, which only its owner can read.
func (k Key) Write(path string) error {
	der, err := x509.MarshalPKCS8PrivateKey(k.private)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists: a key is never overwritten; remove the file, or name another", path)
	}
	if err != nil {
		return err
	}
	err = pem.Encode(file, &pem.Block{Type: pemType, Bytes: der})
	return errors.Join(err, file.Sync(), file.Close())
}

// ReadKey reads a key from its file. One that others can read is an error.
func ReadKey(path string) (Key, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Key{}, fmt.Errorf("the key %s: %w", path, fs.ErrNotExist)
	}
	if err != nil {
		return Key{}, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return Key{}, fmt.Errorf("%s can be read by others than its owner: chmod 600 %s, and make a new key if they may have", path, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return Key{}, err
	}
	key, err := parseKey(text)
	if err != nil {
		return Key{}, fmt.Errorf("%s holds no Ed25519 key (PKCS #8 in PEM): %w", path, err)
	}
	return key, nil
}

func parseKey(text []byte) (Key, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != pemType {
		return Key{}, errors.New("it has no PEM block " + pemType)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return Key{}, errors.New("its bytes are not those of a key") // those of a key are not to be logged
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return Key{}, errors.New("it is a key of another kind")
	}
	return Key{private}, nil
}

// TLS returns the settings of a connection, of either end. Permit is called with the ID that the
// other end has proved, and its error ends the connection.
func (k Key) TLS(permit func(ID) error) (*tls.Config, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Unix(0, 0), // clocks of nodes may differ, and keys do not expire
		NotAfter:     time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, k.private.Public(), k.private)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: k.private}},
		NextProtos:             []string{"http/1.1"}, // a WebSocket needs it
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, // VerifyConnection verifies: the key counts, not a name or an authority
		SessionTicketsDisabled: true, // each connection proves the key anew
		VerifyConnection: func(c tls.ConnectionState) error {
			id, err := proved(c)
			if err != nil {
				return err
			}
			return permit(id)
		},
	}, nil
}

// proved returns the ID that the other end of a connection has proved.
func proved(c tls.ConnectionState) (ID, error) {
	if len(c.PeerCertificates) == 0 {
		return ID{}, errors.New("the other end shows no certificate")
	}
	public, ok := c.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
	if !ok || len(public) != ed25519.PublicKeySize {
		return ID{}, errors.New("the other end's certificate is of no Ed25519 key, so it is no node's")
	}
	return ID(public), nil
}
