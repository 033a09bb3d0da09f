// Package page is the game's page in the browser. It is not for the API. It starts no goroutines.
package page

import "net/http"

// Handler serves the page.
func Handler() http.Handler { return http.NotFoundHandler() }
