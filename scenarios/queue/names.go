package queue

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// One stream holds the items of all batches, each under a subject of its own:
//
//	sim.work.VERSION.BATCH.KEY
//
// A version's workers share one consumer, which sees only its subjects. The stream refuses a second item under a
// subject while the first is there, so that a batch that is published again does not double what still waits.
const (
	workStream  = "SIM_WORK"
	workSubject = "sim.work"
	begunBucket = "sim-begun" // how often items were begun; see begun.go
)

// place is where the items and results of a batch are.
type place struct{ version, batch string } // tokens of subjects

func placeOf(version, name string) place {
	return place{token(version), token(name, version)}
}

// token makes text fit for a subject, a consumer or a bucket. A digest of all parts keeps different texts apart.
func token(text string, more ...string) string {
	h := sha256.New()
	for _, s := range append([]string{text}, more...) {
		fmt.Fprintf(h, "%d:%s", len(s), s) // a hash never fails
	}
	plain := strings.Map(func(r rune) rune {
		if fit(r) && r != '=' {
			return r
		}
		return '_'
	}, text)
	return plain[:min(len(plain), 40)] + "-" + hex.EncodeToString(h.Sum(nil)[:4])
}

// fit reports whether a rune may be in a key.
func fit(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '='
}

// checkKey tells what is wrong with a key.
func checkKey(key string) error {
	if key == "" || len(key) > 128 || strings.ContainsFunc(key, func(r rune) bool { return !fit(r) }) {
		return fmt.Errorf("queue: %q is no key: it must be 1 to 128 letters, digits, '-', '_' or '='", key)
	}
	return nil
}

func consumerName(version string) string { return "version-" + version }

func (p place) subject(key string) string {
	return workSubject + "." + p.version + "." + p.batch + "." + key
}

// all matches the subjects of all items of the batch.
func (p place) all() string { return p.subject("*") }

// presence is where the batch's publisher answers.
func (p place) presence() string { return "sim.publisher." + p.version + "." + p.batch }

// parseSubject splits an item's subject.
func parseSubject(subject string) (p place, key string, ok bool) {
	parts := strings.Split(subject, ".")
	if len(parts) != 5 || parts[0]+"."+parts[1] != workSubject {
		return place{}, "", false
	}
	return place{parts[2], parts[3]}, parts[4], true
}

// The results of a batch are in a stream of its own, and go with it:
//
//	sim.done.VERSION.BATCH.result.ID
//	sim.done.VERSION.BATCH.part.ID
func (p place) stream() string { return "sim-" + p.batch }
func (p place) done(token string) string {
	return "sim.done." + p.version + "." + p.batch + "." + token
}
func (p place) result(id string) string { return p.done("result." + id) }
func (p place) part(id string) string   { return p.done("part." + id) }
