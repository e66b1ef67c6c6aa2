package jsonscan

func Explain(b []byte, f Fault, eof bool) string { return "not JSON" }
