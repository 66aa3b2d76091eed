// This file names the streams and subjects of batches, and the consumers of versions.

package queue

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// One stream contains the items of all batches, each with its own subject:
//
//	sim.work.VERSION.BATCH.KEY
//
// The workers of a version share one consumer, which receives only its subjects. The
// stream rejects a second item with the same subject while the first is stored. A batch
// that is published again therefore does not duplicate waiting items.
const (
	workStream  = "SIM_WORK"
	workSubject = "sim.work"
	// startsBucket counts the starts of items; see start_counts.go.
	startsBucket = "sim-begun"
)

// batchAddress identifies the subjects and streams of a batch. Both fields are made by
// subjectToken.
type batchAddress struct{ version, batch string }

// batchAddressOf returns the address of a batch of a version.
func batchAddressOf(version, name string) batchAddress {
	return batchAddress{subjectToken(version), subjectToken(name, version)}
}

// subjectToken makes text valid as a part of a subject, consumer or bucket name, such as
// "fig12-3f9a01bc". The text is shortened for people to read; the digest of all arguments
// after it keeps different texts different.
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
	const maxPlain, digestBytes = 40, 4
	return plain[:min(len(plain), maxPlain)] + "-" + hex.EncodeToString(h.Sum(nil)[:digestBytes])
}

// isKeyRune reports whether a rune is valid in a key.
func isKeyRune(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '='
}

// checkKey fails on invalid keys. Their length is limited because they are parts of subjects;
// digests in hexadecimal have 64 characters.
func checkKey(key string) error {
	if key == "" || len(key) > 128 || strings.ContainsFunc(key, func(r rune) bool { return !isKeyRune(r) }) {
		return fmt.Errorf("queue: %q is no key: it must be 1 to 128 letters, digits, '-', '_' or '='", key)
	}
	return nil
}

// consumerName returns the name of the consumer that the workers of a version share.
func consumerName(version string) string { return "version-" + version }

// itemSubject returns the subject of an item.
func (p batchAddress) itemSubject(key string) string {
	return workSubject + "." + p.version + "." + p.batch + "." + key
}

// allItemSubjects matches the subjects of all items of the batch.
func (p batchAddress) allItemSubjects() string { return p.itemSubject("*") }

// presenceSubject is the subject on which the batch's publisher answers.
func (p batchAddress) presenceSubject() string { return "sim.publisher." + p.version + "." + p.batch }

// parseSubject is the inverse of itemSubject.
func parseSubject(subject string) (p batchAddress, key string, ok bool) {
	parts := strings.Split(subject, ".")
	if len(parts) != 5 || parts[0]+"."+parts[1] != workSubject {
		return batchAddress{}, "", false
	}
	return batchAddress{parts[2], parts[3]}, parts[4], true
}

// streamName returns the name of the stream with the results of a batch, which is deleted with
// the batch. Its subjects are:
//
//	sim.done.VERSION.BATCH.result.ID
//	sim.done.VERSION.BATCH.part.ID
func (p batchAddress) streamName() string { return "sim-" + p.batch }

// doneSubject returns a subject of the results of the batch.
func (p batchAddress) doneSubject(token string) string {
	return "sim.done." + p.version + "." + p.batch + "." + token
}

// resultSubject returns the subject of a result. id is unique for each result.
func (p batchAddress) resultSubject(id string) string { return p.doneSubject("result." + id) }

// partSubject returns the subject of the parts of a large result.
func (p batchAddress) partSubject(id string) string { return p.doneSubject("part." + id) }
