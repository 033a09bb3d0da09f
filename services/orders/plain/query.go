package main

import (
	"net/http"
	"net/url"
	"strconv"
)

// query answers GET /api/v1/order.
func (s *server) query(w http.ResponseWriter, r *http.Request, account string) error {
	params, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return refuse(http.StatusBadRequest, "the query cannot be read: %v", err)
	}
	uid, err := positive(params, "uid", 0)
	if err == nil && uid == 0 {
		err = refuseField("uid", "give the order's number")
	}
	if err != nil {
		return err
	}
	least, err := positive(params, "min_version", 0)
	if err != nil {
		return err
	}
	o, err := s.order(r.Context(), uid)
	switch {
	case err != nil:
		return err
	case o.Account != account && s.config.foreign == http.StatusForbidden:
		return refuse(http.StatusForbidden, "the order is another account's")
	case o.Account != account:
		return errNotFound
	case o.Version < least:
		return refuse(http.StatusConflict, "the order's version is %d, less than min_version; was it acknowledged?", o.Version)
	}
	w.Header().Set("ETag", o.etag())
	if o.unchanged(r) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	answer(w, http.StatusOK, o)
	return nil
}

// positive reads a whole number above zero, which may be missing.
func positive(params url.Values, name string, missing int64) (int64, error) {
	switch given := params[name]; len(given) {
	case 0:
		return missing, nil
	case 1:
		if n, err := strconv.ParseInt(given[0], 10, 64); err == nil && n > 0 && given[0][0] != '+' {
			return n, nil
		}
		return 0, refuseField(name, "give a whole number above 0 and below 2^63")
	default:
		return 0, refuseField(name, "give it once")
	}
}
