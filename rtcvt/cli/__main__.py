from rtcvt.cli import main

main()
