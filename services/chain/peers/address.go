package peers

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Address is where a peer listens.
type Address struct {
	ID   ID     // zero: any that is permitted
	Host string // HOST:PORT
}

// ParseAddress reads ID@HOST:PORT or HOST:PORT.
func ParseAddress(text string) (a Address, err error) {
	a.Host = text
	if id, host, ok := strings.Cut(text, "@"); ok {
		a.Host = host
		if a.ID, err = ParseID(id); err != nil {
			return Address{}, err
		}
	}
	host, port, err := net.SplitHostPort(a.Host)
	if n, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || n == 0 || host == "" {
		return Address{}, fmt.Errorf("%q is no address of a peer: write ID@HOST:PORT, such as 3d40…9c@10.0.0.2:30303", text)
	}
	return a, nil
}

// String gives an address as ParseAddress reads it.
func (a Address) String() string {
	if a.ID == (ID{}) {
		return a.Host
	}
	return a.ID.String() + "@" + a.Host
}
