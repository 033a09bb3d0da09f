package rippled

// scanDecoder reads only what is needed.
type scanDecoder struct{ jsonDecoder }
