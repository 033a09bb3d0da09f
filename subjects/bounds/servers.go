package main

import (
	"fmt"
	"slices"
	"strings"

	"dyno/subjects/bounds/languages"
	"dyno/subjects/bounds/pages"
	"dyno/subjects/bounds/suite"
)

// servers is the list of the servers in Go, by family.
var servers = []suite.Entry{
	fingerprints, pages.Catalogue, pages.Search, pages.Ranking,
	ledger, audit, visits, prices,
	orders, couriers, shop, calculator, printing, registry,
	forum, filters, sessions,
	journals, secretary, mailer, turnstile,
	pages.Site, pages.Copies,
	signedForum, vaults,
	gate, tickerTape, crowded, paced, thinking,
}

// list returns the suite with the ranges of its parameters.
func list() []suite.Entry {
	all := slices.Concat(servers, languages.Servers)
	for i := range all {
		d := suite.NewDraw(0, all[i].Name)
		all[i].Plan(d)
		all[i].Parameters = d.Ranges
		all[i].Also = append([]string{}, all[i].Also...)
		all[i].Invisible = append([]string{}, all[i].Invisible...)
	}
	return all
}

// find returns the server of the given name.
func find(name string) (suite.Entry, error) {
	var names []string
	for _, e := range slices.Concat(servers, languages.Servers) {
		if e.Name == name {
			return e, nil
		}
		names = append(names, e.Name)
	}
	return suite.Entry{}, fmt.Errorf("unknown server %q; the servers are %s", name, strings.Join(names, ", "))
}
