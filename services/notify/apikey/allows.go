package apikey

import "strings"

// Allows reports whether a request with this Authorization header has a key that is known, for a
// server that is not net/http. It never blocks.
func (k *Keys) Allows(authorization string) bool {
	scheme, key, _ := strings.Cut(authorization, " ")
	return strings.EqualFold(scheme, "Bearer") && k.known(strings.TrimSpace(key))
}
