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
	workStream   = "SIM_WORK"
	workSubject  = "sim.work"
	startsBucket = "sim-begun" // how often items were begun; see begun.go
)

// batchAddress is where the items and results of a batch are.
type batchAddress struct{ version, batch string } // tokens of subjects

func batchAddressOf(version, name string) batchAddress {
	return batchAddress{subjectToken(version), subjectToken(name, version)}
}

// subjectToken makes text fit for a subject, a consumer or a bucket. A digest of all parts keeps different texts apart.
func subjectToken(text string, more ...string) string {
	h := sha256.New()
	for _, s := range append([]string{text}, more...) {
		fmt.Fprintf(h, "%d:%s", len(s), s) // a hash never fails
	}
	plain := strings.Map(func(r rune) rune {
		if isKeyRune(r) && r != '=' {
			return r
		}
		return '_'
	}, text)
	return plain[:min(len(plain), 40)] + "-" + hex.EncodeToString(h.Sum(nil)[:4])
}

// isKeyRune reports whether a rune may be in a key.
func isKeyRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '='
}

// checkKey tells what is wrong with a key.
func checkKey(key string) error {
	if key == "" || len(key) > 128 || strings.ContainsFunc(key, func(r rune) bool { return !isKeyRune(r) }) {
		return fmt.Errorf("queue: %q is no key: it must be 1 to 128 letters, digits, '-', '_' or '='", key)
	}
	return nil
}

func consumerName(version string) string { return "version-" + version }

func (p batchAddress) itemSubject(key string) string {
	return workSubject + "." + p.version + "." + p.batch + "." + key
}

// allItemSubjects matches the subjects of all items of the batch.
func (p batchAddress) allItemSubjects() string { return p.itemSubject("*") }

// presenceSubject is where the batch's publisher answers.
func (p batchAddress) presenceSubject() string { return "sim.publisher." + p.version + "." + p.batch }

// parseSubject splits an item's subject.
func parseSubject(subject string) (p batchAddress, key string, ok bool) {
	parts := strings.Split(subject, ".")
	if len(parts) != 5 || parts[0]+"."+parts[1] != workSubject {
		return batchAddress{}, "", false
	}
	return batchAddress{parts[2], parts[3]}, parts[4], true
}

// The results of a batch are in a stream of its own, and go with it:
//
//	sim.done.VERSION.BATCH.result.ID
//	sim.done.VERSION.BATCH.part.ID
func (p batchAddress) streamName() string { return "sim-" + p.batch }
func (p batchAddress) doneSubject(token string) string {
	return "sim.done." + p.version + "." + p.batch + "." + token
}
func (p batchAddress) resultSubject(id string) string { return p.doneSubject("result." + id) }
func (p batchAddress) partSubject(id string) string   { return p.doneSubject("part." + id) }
