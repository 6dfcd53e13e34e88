VALUE = "arm64"
