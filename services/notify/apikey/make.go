package apikey

import (
	"crypto/rand"
	"crypto/sha256"
)

// keyPrefix lets people, and programs that look for leaked secrets, recognise a key.
const keyPrefix = "notifyd_"

// Make returns a new random key, and the line for the file of keys, which holds only the key's
// hash.
func Make(name string) (key, line string, err error) {
	if err := checkName(name); err != nil {
		return "", "", err
	}
	key = keyPrefix + rand.Text()
	return key, entry{name: name, hash: sha256.Sum256([]byte(key))}.String(), nil
}
