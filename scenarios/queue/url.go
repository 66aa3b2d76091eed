package queue

// CheckURL fails, in one line, where a text is no URL of a server: for flags,
// before anything is done.
func CheckURL(url string) error { return checkURL(url) }
