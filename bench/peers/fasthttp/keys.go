package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// algorithms are those that a key may be for. Which one it is, the key says, never the token.
var algorithms = []jose.SignatureAlgorithm{jose.HS256, jose.EdDSA, jose.RS256}

func readKeys(file string) (*jose.JSONWebKeySet, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(set.Keys) == 0 {
		return nil, fmt.Errorf("%s: no keys in it", file)
	}
	return &set, nil
}

func verify(keys *jose.JSONWebKeySet, token string, now time.Time) (account string, err error) {
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return "", err
	}
	if len(parsed.Headers) != 1 {
		return "", errors.New("the token has not one signature")
	}
	header := parsed.Headers[0]
	for _, key := range keys.Key(header.KeyID) {
		if key.Algorithm != header.Algorithm {
			continue
		}
		var claims jwt.Claims
		if err := parsed.Claims(key, &claims); err != nil {
			return "", err
		}
		if claims.Expiry == nil || claims.Subject == "" {
			return "", errors.New("the token has no exp or no sub")
		}
		return claims.Subject, claims.ValidateWithLeeway(jwt.Expected{Time: now}, 0)
	}
	return "", errors.New("the token is signed with an unknown key")
}
